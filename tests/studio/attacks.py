#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other pages, other users of the machine and hostile clients may try against `tessera studio`, each as a check: they get
no answer, and the server goes on. --only chooses some."""
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "recovery")]
from checks import run_checks  # noqa: E402
from small_run import wait_until  # noqa: E402
from studio_server import HEADERS, SECONDS, receive_all, studio, why_not  # noqa: E402

QUESTION = json.dumps({"run": {"model": "tiny"}}).encode()


def statuses(server, variants, method="POST", path="/ask/presets", body=b"{}"):
    return {str(headers)[:80]: server.request(method, path, headers, body).status for headers in variants}


def require_all(found, status):
    wrong = {what: got for what, got in found.items() if got not in (status if isinstance(status, tuple) else (status,))}
    assert not wrong, f"not {status}: {wrong}"


def a_foreign_host_is_refused(binary, _):
    with studio(binary) as server:
        hosts = ["evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port + 1}", "localhost", "", "[::1]",
                 f"localhost.evil.example:{server.port}", f"127.0.0.1.evil.example:{server.port}", f"0.0.0.0:{server.port}",
                 f"user@127.0.0.1:{server.port}", f"127.0.0.1:{server.port}.evil.example", f"127.0.0.1:0{server.port}"]
        for path, method in (("/", "GET"), ("/ask/presets", "POST")):
            require_all(statuses(server, [{"Host": host} for host in hosts], method, path), 403)
        require_all(statuses(server, [{"Host": None}], "GET", "/"), (400, 403))
        two = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n\r\n".encode()
        assert server.send(two).status in (400, 403)
        assert server.send(b"GET / HTTP/1.0\r\n\r\n").status == 403
        for host in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
            assert server.request("GET", "/", {"Host": f"{host}:{server.port}"}).status == 200, host
        assert server.is_well()


def a_foreign_origin_is_refused(binary, _):
    with studio(binary) as server:
        origins = ["https://evil.example", "null", f"https://127.0.0.1:{server.port}", "http://127.0.0.1", "",
                   f"http://127.0.0.1:{server.port}.evil.example", f"http://localhost:{server.port}", "file://"]
        for path, method in (("/", "GET"), ("/ask/presets", "POST")):
            require_all(statuses(server, [{"Origin": origin} for origin in origins], method, path), 403)
        assert server.ask("presets", headers={"Origin": f"http://127.0.0.1:{server.port}"}).status == 200


def other_sites_can_open_the_page_and_no_more(binary, _):
    with studio(binary) as server:
        for site in ("cross-site", "same-site", "nonsense"):
            foreign = {"Sec-Fetch-Site": site}
            top = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
            assert server.request("GET", "/", {**foreign, **top}).status == 200  # a link: no frame, no token, nothing asked
            for other in ({}, {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}):
                assert server.request("GET", "/", {**foreign, **other}).status == 403, other
            assert server.ask("presets", headers={**foreign, **top}).status == 403
        for site in ("same-origin", "none"):
            assert server.ask("presets", headers={"Sec-Fetch-Site": site}).status == 200


def without_the_token_nothing_is_answered(binary, _):
    with studio(binary) as server:
        flipped = ("0" if server.token[0] != "0" else "1") + server.token[1:]
        tokens = [None, "", "x", server.token[:-1], server.token + "0", flipped, server.token.upper() + " ", f"'{server.token}'"]
        require_all(statuses(server, [{"X-Tessera-Token": token} for token in tokens]), 401)
        for path in (f"/ask/presets?token={server.token}", f"/ask/presets?X-Tessera-Token={server.token}"):
            assert server.request("POST", path, {"X-Tessera-Token": None}, b"{}").status == 401
        cookie = {"X-Tessera-Token": None, "Cookie": f"X-Tessera-Token={server.token}"}
        assert server.request("POST", "/ask/presets", cookie, b"{}").status == 401
        reply = server.request("POST", "/ask/no_such_kind", {"X-Tessera-Token": None}, b"{}")
        assert reply.status == 401 and server.token not in str(reply)
        assert server.token not in server.request("GET", "/").body.decode()


def tokens_are_long_and_never_the_same(binary, _):
    seen = set()
    for _ in range(3):
        with studio(binary) as server:
            seen.add(server.token)
    assert len(seen) == 3 and all(len(token) == 32 for token in seen), seen


def only_posts_of_json_ask(binary, _):
    with studio(binary) as server:
        for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            status = server.request(method, "/ask/presets", server.own_headers()).status
            assert status in (400, 405, 501), (method, status)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert server.request(method, "/", server.own_headers()).status in (400, 405, 501), method
        types = [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", "text/json"]
        require_all(statuses(server, [{"Content-Type": kind} for kind in types]), 415)
        assert server.ask("presets", headers={"Content-Type": "Application/JSON; charset=utf-8"}).status == 200


def every_reply_has_the_headers_and_none_opens_it_to_others(binary, _):
    with studio(binary) as server:
        etag = server.request("GET", "/").headers["etag"]
        preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"}
        replies = [server.request("GET", "/"), server.request("GET", "/", {"If-None-Match": etag}), server.request("GET", "/nothing"),
                   server.request("HEAD", "/"), server.request("GET", "/", {"Host": "x"}), server.ask("presets"), server.ask("try", {"run": {"model": "x"}}),
                   server.ask("nothing"), server.ask("presets", headers={"X-Tessera-Token": "x"}), server.request("OPTIONS", "/ask/try", preflight)]
        assert [reply.status for reply in replies] == [200, 304, 404, 200, 403, 200, 400, 404, 401, 403], replies
        for reply in replies:
            assert {name: reply.headers.get(name) for name in HEADERS} == HEADERS, reply
            policy = reply.headers["content-security-policy"]
            for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"):
                assert part in policy, policy
            assert "unsafe" not in policy, policy
            assert not [name for name in reply.headers if name.startswith("access-control") or name in ("set-cookie", "server")], reply


def no_path_leads_out_of_the_page(binary, _):
    paths = ["/../etc/passwd", "/..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/etc/passwd", "/./index.html", "/index.html/",
             "/index.html%00", "/INDEX.HTML", "/.git/config", "/..", "/...", "/web/index.html", "/ask", "/ask/", "/ask/../index.html", "http://evil.example/",
             "/index.html/../../README.md", "\\..\\README.md", "/" + "a" * 3000, "/" + "../" * 500 + "etc/passwd"]
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    for options in ((), ("--assets", root / "web")):
        with studio(binary, *options) as server:
            for path in paths:
                assert server.request("GET", path).status in (400, 404, 405), path
            for path in ("/ask/..", "/ask/presets/../try", "/ask/%70resets", "/ask/PRESETS", "/ask/presets%00", "/ask/" + "a" * 1000):
                assert server.request("POST", path, {}, b"{}").status == 404, path
            assert server.is_well()


def links_and_pipes_of_a_page_folder_are_not_followed(binary, folder):
    page = folder / "page"
    (page / "deep").mkdir(parents=True)
    (page / "index.html").write_text("<!doctype html><title>own</title>")
    (folder / "secret.js").write_text("secret")
    (page / "link.js").symlink_to("../secret.js")
    (page / "near.js").symlink_to("index.html")
    (page / "up").symlink_to("..")
    (page / ".hidden.js").write_text("hidden")
    (page / "secret.pem").write_text("secret")
    os.mkfifo(page / "pipe.js")
    (page / "deep" / "own.js").write_text("own")
    with studio(binary, "--assets", page) as server:
        for path in ("/link.js", "/near.js", "/up/secret.js", "/.hidden.js", "/pipe.js", "/secret.pem", "/deep", "/deep/../../secret.js"):
            reply = server.request("GET", path)
            assert reply.status == 404 and b"secret" not in reply.body, (path, reply)
        assert server.request("GET", "/deep/own.js").body == b"own"
        assert server.request("GET", "/").body.endswith(b"<title>own</title>")


def heads_are_bounded(binary, _):
    with studio(binary) as server:
        assert server.request("GET", "/", {"X-Much": "a" * 12000}).status == 200
        require_all(statuses(server, [{"X-Much": "a" * count} for count in (17000, 40000, 200000)], "GET", "/"), (0, 400, 413, 431))
        require_all(statuses(server, [{f"X-{number}": "a" for number in range(5000)}], "GET", "/"), (0, 400, 413, 431))
        require_all({"path": server.request("GET", "/" + "a" * 60000).status}, (0, 400, 414, 431))
        assert server.is_well()


def an_endless_head_is_cut_off(binary, _):
    """A gigabyte, or as much as the server takes: it takes no more than the buffers of the two sockets hold."""
    with studio(binary) as server, server.connect() as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Much: ".encode())
        taken = 0
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while taken < 2**30:
                taken += connection.send(b"a" * 65536)
        assert taken < 64 * 2**20, taken
        memory = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        assert int(re.search(r"VmHWM:\s+(\d+)", memory).group(1)) < 500_000, memory
        assert server.is_well()


def bodies_are_bounded(binary, _):
    with studio(binary) as server:
        large = b'{"x": "' + b"a" * (1 << 20) + b'"}'
        assert server.request("POST", "/ask/presets", {}, large).status in (0, 413)
        for length in ("1000000000", "1048577"):
            assert server.request("POST", "/ask/presets", {"Content-Length": length}).status in (0, 413), length
        for length in ("-1", "1e3", "0x10", " ", "99999999999999999999999", "2, 2"):
            assert server.request("POST", "/ask/presets", {"Content-Length": length}, b"{}").status in (0, 400, 413), length
        chunked = b"2\r\n{}\r\n0\r\n\r\n"
        for encoding in ("chunked", "gzip, chunked", "identity"):
            status = server.request("POST", "/ask/presets", {"Content-Length": None, "Transfer-Encoding": encoding}, chunked).status
            assert status in (0, 400, 411, 501), (encoding, status)
        assert server.request("POST", "/ask/presets", {"Transfer-Encoding": "chunked"}, chunked).status in (0, 400, 411)
        two = {"Content-Length": "2\r\nContent-Length: 3"}
        assert server.request("POST", "/ask/presets", two, b"{} ").status in (0, 400)
        assert server.is_well()


def a_second_request_on_a_connection_is_not_answered(binary, _):
    """One connection, one request: what a proxy could smuggle after it is thrown away."""
    with studio(binary) as server:
        one = f"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        with server.connect() as connection:
            connection.sendall(one + one.replace(b"/nothing", b"/"))
            data = receive_all(connection)
        assert data.count(b"HTTP/1.1 ") == 1 and b" 404 " in data, data


def questions_that_are_none_get_errors(binary, _):
    with studio(binary) as server:
        bodies = [b"[]", b"3", b"null", b'"x"', b"{", b"}", b"\x00", b"\xff\xfe", b"{" * 100000, b"[" * 100000, b'{"a":' * 1000 + b"1" + b"}" * 1000,
                  b'{"run": 3}', b'{"run": {"model": 3}}', b'{"run": {"set": []}}', b'{"run": {"set": {"train.batch": "7e999"}}}',
                  b'{"run": {"set": {"mesh": "tp=99999999999999999999"}}}', b'{"run": {"model": "../../etc/passwd"}}', b'{"unknown": 1}',
                  b'{"run": {"set": {"mesh": "pp=2", "plan.schedule": "custom", "plan.actions": "/etc/passwd"}}}', b'{"run": {"cluster": "clusters/laptop.toml"}}',
                  b'{"run": {"cluster": "/etc/passwd"}}', b'{"run": {"cluster": "../../../etc/passwd"}}', b'{"run":{},"run":{}}', b"{} {}", b"NaN"]
        for body in bodies:
            reply = server.request("POST", "/ask/try", {}, body)
            assert reply.status == 400, (body[:60], reply)
            assert reply.json()["error"]["what"] and b"root:" not in reply.body, reply
            assert reply.headers["content-type"] == "application/json"
        assert server.is_well()


def markup_in_a_question_comes_back_as_json(binary, _):
    with studio(binary) as server:
        reply = server.ask("try", {"run": {"model": "<script>alert(1)</script>"}})
        assert reply.status == 400 and reply.headers["content-type"] == "application/json" and "<script>" in reply.json()["error"]["what"], reply
        reply = server.request("GET", "/<script>alert(1)</script>")
        assert b"<script>" not in reply.body, reply


def dripping(server, first, bytes_of, every):
    """Seconds until the server closes a connection on which a byte comes every so often."""
    begin = time.monotonic()
    with server.connect() as connection:
        connection.sendall(first)
        connection.settimeout(every)
        while time.monotonic() - begin < SECONDS:
            try:
                if not connection.recv(4096):
                    return time.monotonic() - begin
            except TimeoutError:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    connection.sendall(bytes_of)
            except ConnectionResetError:
                return time.monotonic() - begin
    return time.monotonic() - begin


def slow_clients_are_cut_off_and_others_served(binary, _):
    """Ten seconds to send a request, however it is dripped; 31 such connections leave one for others."""
    with studio(binary) as server:
        post = "\r\n".join(f"{name}: {value}" for name, value in server.own_headers().items())
        starts = [b"", b"GET / HT", f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Slow: ".encode(),
                  f"POST /ask/presets HTTP/1.1\r\n{post}\r\nContent-Length: 1000\r\n\r\n".encode()]
        found = {}

        def try_one(number):
            start = starts[number % len(starts)]
            found[number] = dripping(server, start, b"a" if start else b"", 0.5)

        threads = [threading.Thread(target=try_one, args=(number,)) for number in range(31)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        assert server.request("GET", "/").status == 200
        for thread in threads:
            thread.join()
        assert len(found) == 31 and all(8 < seconds < 60 for seconds in found.values()), found
        assert server.is_well()


def more_than_32_connections_are_turned_away(binary, _):
    with studio(binary) as server, contextlib.ExitStack() as open_ones:
        for _ in range(32):
            open_ones.enter_context(server.connect())
        time.sleep(1)
        refused = [server.send(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()).status for _ in range(4)]
        assert refused == [0] * 4, refused
        open_ones.close()
        assert wait_until(server.is_well, SECONDS) is not None


def other_addresses_of_the_machine_do_not_serve(binary, _):
    with studio(binary) as server:
        addresses = {"127.0.0.2", *(info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None) if info[4][0] not in ("127.0.0.1", "::1"))}
        for address in addresses:
            with contextlib.suppress(OSError):
                server.connect(address).close()
                raise AssertionError(f"{address} serves")
        assert server.request("GET", "/", {"Host": f"[::1]:{server.port}"}, host="::1").status == 200
        with server.connect() as listening:
            assert listening.getpeername()[0] == "127.0.0.1"


def a_taken_port_is_an_error(binary, _):
    with studio(binary) as server:
        done = subprocess.run([binary, "studio", "--no-browser", "--port", str(server.port)], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 2 and "cannot listen on port" in done.stderr and "choose another port" in done.stderr, done
        assert server.is_well()


def ctrl_c_ends_it_at_once_even_with_clients(binary, _):
    with studio(binary) as server, server.connect() as waiting:
        waiting.sendall(b"GET /")
        status, seconds = server.stop()
        assert status == 0 and seconds < 60, (status, seconds)


def the_browser_gets_the_token_in_a_file_of_the_user(binary, folder):
    """Command lines are public. The address reaches the browser through a file that no other user can read, and that goes."""
    tools = folder / "tools"
    tools.mkdir()
    seen = folder / "seen"
    (tools / "xdg-open").write_text(f'#!/bin/sh\nstat -c "%a $*" "$1" > {seen}.new\ncat "$1" >> {seen}.new\nmv {seen}.new {seen}\n')
    (tools / "xdg-open").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "DISPLAY": ":77", "XDG_RUNTIME_DIR": str(folder)}
    process = subprocess.Popen([binary, "studio"], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        address = re.search(r"http://\S+", process.stdout.readline()).group(0)
        for _ in range(200):
            if seen.exists():
                break
            time.sleep(0.05)
        first, _, text = seen.read_text().partition("\n")
        mode, file = first.split()
        assert mode == "600" and address in text and "token" not in first, (first, text)
        process.terminate()
        assert process.wait(timeout=SECONDS) == 0
        assert not pathlib.Path(file).exists()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def nothing_is_left_open_after_many_requests(binary, _):
    with studio(binary) as server:
        count = lambda what: len(os.listdir(f"/proc/{server.process.pid}/{what}"))
        assert server.is_well()
        before = count("fd"), count("task")
        for number in range(100):
            server.request("GET", "/")
            server.request("POST", "/ask/try", {}, QUESTION if number % 10 == 0 else b"{")
        closed = wait_until(lambda: count("fd") <= before[0] + 1 and count("task") <= before[1] + 1, SECONDS)
        assert closed is not None, (before, count("fd"), count("task"))


CHECKS = [
    a_foreign_host_is_refused,
    a_foreign_origin_is_refused,
    other_sites_can_open_the_page_and_no_more,
    without_the_token_nothing_is_answered,
    tokens_are_long_and_never_the_same,
    only_posts_of_json_ask,
    every_reply_has_the_headers_and_none_opens_it_to_others,
    no_path_leads_out_of_the_page,
    links_and_pipes_of_a_page_folder_are_not_followed,
    heads_are_bounded,
    an_endless_head_is_cut_off,
    bodies_are_bounded,
    a_second_request_on_a_connection_is_not_answered,
    questions_that_are_none_get_errors,
    markup_in_a_question_comes_back_as_json,
    slow_clients_are_cut_off_and_others_served,
    more_than_32_connections_are_turned_away,
    other_addresses_of_the_machine_do_not_serve,
    a_taken_port_is_an_error,
    ctrl_c_ends_it_at_once_even_with_clients,
    the_browser_gets_the_token_in_a_file_of_the_user,
    nothing_is_left_open_after_many_requests,
]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS, why_not(sys.argv))
