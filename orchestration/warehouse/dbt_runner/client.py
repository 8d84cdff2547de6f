"""A replacement for the `dbt` command that passes the run to the dbt server, or runs dbt itself if there is no server.

Called as `dbt_client.py FOLDER LOCK DBT ARGUMENT…`: the folder of the server's socket, the descriptor of the writer
lock (empty without one), the real dbt. It imports only the standard library, so that it starts quickly.
"""

import json
import os
import socket
import sys
from contextlib import suppress

SOCKET = "dbt.sock"


def main() -> int:
    """Run dbt; returns its exit code."""
    folder, lock, dbt, *arguments = sys.argv[1:]
    here = os.getcwd()  # noqa: PTH109 - pathlib would take as long to import as the rest
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            os.chdir(folder)  # a Unix socket's path is limited to about 100 characters
            connection.connect(SOCKET)
        except OSError:
            os.chdir(here)
            os.execv(dbt, [dbt, *arguments])
        request = {"arguments": arguments, "environment": dict(os.environ), "folder": here}
        text = json.dumps(request).encode() + b"\n"
        descriptors = [0, 1, 2, *([int(lock)] if lock else [])]
        sent = socket.send_fds(connection, [text], descriptors)
        connection.sendall(text[sent:])
        answer = b""
        with suppress(ConnectionError):
            while not answer.endswith(b"\n") and (more := connection.recv(16)):
                answer += more
    if not answer.endswith(b"\n"):
        print("dbt ended before its run did", file=sys.stderr)
        return 1
    return int(answer)


if __name__ == "__main__":
    sys.exit(main())
