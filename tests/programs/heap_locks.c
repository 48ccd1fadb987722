/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads take locks on the heap, of which nothing but the code that uses them says what they are. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TURNS = 3, HOLD_US = 2000, STORES = 2, SHELVES = 4 };

typedef struct {
	long price;
	pthread_mutex_t lock;
} shelf_type;

struct store {
	char name[40];
	shelf_type shelves[SHELVES];
	pthread_rwlock_t prices;
	pthread_mutex_t tills[SHELVES];
	pthread_mutex_t door;
};

struct town {
	int people;
	struct store *stores;
};

static struct town *town;
static pthread_barrier_t together;

static void meet(void)
{
	(void)pthread_barrier_wait(&together); /* its result says who was last */
}

/* The lock's function may be jumped to, so that only its caller is on the stack. */
__attribute__((noinline)) static int enter(struct store *store)
{
	return pthread_mutex_lock(&store->door);
}

__attribute__((noinline)) static void put_away(shelf_type *shelf)
{
	pthread_mutex_lock(&shelf->lock);
	usleep(HOLD_US);
	pthread_mutex_unlock(&shelf->lock);
}

__attribute__((noinline)) static void raise_prices(struct town *where, int store)
{
	pthread_rwlock_wrlock(&where->stores[store].prices);
	usleep(HOLD_US);
	pthread_rwlock_unlock(&where->stores[store].prices);
}

__attribute__((noinline)) static void pay(int till)
{
	pthread_mutex_lock(&town->stores->tills[till]);
	usleep(HOLD_US);
	pthread_mutex_unlock(&town->stores->tills[till]);
}

static void *visit(void *unused)
{
	for (int turn = 0; turn < TURNS; turn++) {
		meet();
		enter(&town->stores[1]);
		usleep(HOLD_US);
		pthread_mutex_unlock(&town->stores[1].door);
		meet();
		put_away(&town->stores[0].shelves[2]);
		meet();
		raise_prices(town, 1);
		meet();
		pay(3);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];
	town = calloc(1, sizeof *town);
	if (!town)
		return 1;
	town->stores = calloc(STORES, sizeof *town->stores); /* as PTHREAD_MUTEX_INITIALIZER */
	pthread_barrier_init(&together, NULL, 2);
	for (int i = 0; i < 2; i++)
		if (!town->stores || pthread_create(&threads[i], NULL, visit, NULL) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	free(town->stores);
	free(town);
	puts("done");
	return 0;
}
