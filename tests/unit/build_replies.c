/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that ask others for something, and wait for the answer each at a semaphore of its own. */
#include "build_script.h"

enum {
	CLIENTS = 6,
	SERVERS = 2,
	THREADS = CLIENTS + SERVERS,
	ROUNDS = 20,
	ASK = 300,
	ANSWER = 310
};
enum { POST = 31, AWAIT = 32, TAKE = 33, REPLY = 34, SERVE = 0x600 };

static void give(struct script *s, uint32_t tid, uint64_t semaphore, uint64_t site)
{
	op(s, tid, EVENT_RELEASE, WHAT_SEM, semaphore, site);
}

static void take(struct script *s, uint32_t tid, uint64_t semaphore, uint64_t site)
{
	op(s, tid, EVENT_PASS, WHAT_SEM, semaphore, site);
}

static const struct model_object *replies_of(const struct model *model)
{
	for (size_t i = 0; i < model->object_count; i++)
		if (model->objects[i].are_replies)
			return &model->objects[i];
	return NULL;
}

static struct script begin_servers(void)
{
	struct script s = begin(CLIENTS);
	for (uint32_t i = CLIENTS + 1; i <= THREADS; i++)
		send(&s, (struct event){ .tid = i,
				 .kind = EVENT_THREAD_START,
				 .object = SERVE,
				 .site = 2,
				 .value = MAIN });
	return s;
}

static void all_who_ask_have_one_queue_with_an_instance_each(void **state)
{
	(void)state;
	struct script s = begin_servers();
	for (uint32_t i = 0; i < ROUNDS * CLIENTS; i++) {
		uint32_t client = 1 + i % CLIENTS, server = CLIENTS + 1 + i / 3 % SERVERS;
		give(&s, client, ASK, POST);
		take(&s, server, ASK, TAKE);
		work(&s, server, 50000);
		give(&s, server, ANSWER + client, REPLY);
		take(&s, client, ANSWER + client, AWAIT);
	}
	AUTO(model) struct model *model = finish(&s, THREADS);
	const struct model_object *replies = replies_of(model);
	double instances;
	assert_non_null(replies);
	const struct model_fragment *get = fragment_of(model, 1, MODEL_GET);
	assert_non_null(get);
	assert_ptr_equal(&model->objects[get->object], replies);
	assert_int_equal(
		model_evaluate(model, &replies->instances, MODEL_NUMBER, NULL, &instances, NULL),
		0);
	assert_true(instances == CLIENTS);
}

/* Each lets the next one go on, of whom it had nothing: nobody asked for that. */
static void turns_are_no_replies(void **state)
{
	(void)state;
	struct script s = begin(CLIENTS);
	for (uint32_t i = 0; i < ROUNDS * CLIENTS; i++) {
		uint32_t tid = 1 + i % CLIENTS, next = 1 + (i + 1) % CLIENTS;
		if (i > 0)
			take(&s, tid, ANSWER + tid, AWAIT);
		work(&s, tid, 50000);
		give(&s, tid, ANSWER + next, REPLY);
	}
	AUTO(model) struct model *model = finish(&s, CLIENTS);
	assert_null(replies_of(model));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_who_ask_have_one_queue_with_an_instance_each),
		cmocka_unit_test(turns_are_no_replies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
