# SPDX-License-Identifier: GPL-3.0-or-later
# Requests over a connection that stays: from data that are read to the next that are written there.
cat >pair.py <<'END'
import os, socket, sys
def accept(talk):
    "A connection to another process, where talk() has its other end."
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[1])
    server.listen(1)
    if os.fork() == 0:
        client = socket.socket(socket.AF_UNIX)
        client.connect(sys.argv[1])
        talk(client)
        os._exit(0)
    return server.accept()[0]
END
cat >server.py <<'END'
import os, pair
def ask(client):
    for i in range(3):
        client.sendall(b"ask")
        client.recv(99)
    client.sendall(b"no answer")
connection = pair.accept(ask)
while data := connection.recv(99):
    if data == b"ask":
        connection.sendall(b"answer")
connection.close()
os.wait()
END
"$CORECAST" record --via preload --samples 0 -o run.cct -- python3 server.py socket >/dev/null 2>stderr
"$CORECAST" export run.cct --to csv -o run.csv
# The event, and whether the request came over the connection; a client makes no requests.
awk -F, '$4 ~ /^request/ { print $4, $11 }' run.csv

# A connection that is shut down for writing is answered; its server lingers until the client has closed it.
cat >lingering.py <<'END'
import os, pair, socket
def ask(client):
    client.sendall(b"ask")
    while client.recv(99):
        pass
    client.close()
connection = pair.accept(ask)
connection.recv(99)
connection.shutdown(socket.SHUT_RD)
connection.sendall(b"answer")
connection.shutdown(socket.SHUT_WR)
try:
    connection.shutdown(socket.SHUT_RDWR)
except OSError:
    pass
os.wait()
connection.close()
END
"$CORECAST" record --via preload --samples 0 --budget none -o lingering.cct -- python3 lingering.py other >/dev/null 2>stderr
"$CORECAST" export lingering.cct --to csv -o lingering.csv
# It ended before the server waited for its client's process.
awk -F, '$4 ~ /^request/ { print $4, $11 } $4 == "release" && $5 == "io" && ended { print "closed" } { ended = $4 == "request_end" && $11 == "" || ended }' lingering.csv
