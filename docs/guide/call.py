"""A WebRTC call between two headless browsers, one at each end of a path; prints what getStats said of it.

    sojourn shell --line NAME --server "python3 call.py serve" -- python3 call.py 30 upload

The server's half serves the page below and is the callee, the other half is the caller for 30 seconds; with `upload` it
sends a file meanwhile, over TCP. Cameras and microphones are fakes that the browsers have. It needs Chromium, and of
Python the standard library alone.
"""

import http.server
import json
import os
import queue
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SERVER = "10.77.0.1:8080"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--mute-audio"),
    *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
    # Addresses, not names that only a multicast could find, and a camera for a page without TLS.
    "--disable-features=WebRtcHideLocalIpsWithMdns",
    f"--unsafely-treat-insecure-origin-as-secure=http://{SERVER}",
]
PAGE = """<script>
const role = location.hash.slice(1), other = role == "caller" ? "callee" : "caller";
const say = (kind, to, what) => fetch(`/${kind}/${to}`, {method: "POST", body: JSON.stringify(what)});
const hear = async () => { for (;;) { const got = await fetch(`/hear/${role}`); if (got.ok) return got.json(); } };
const gathered = link => new Promise(done =>
  link.onicegatheringstatechange = () => link.iceGatheringState == "complete" && done());
(async () => {
  const link = new RTCPeerConnection();
  const video = {width: 640, height: 360, frameRate: 25};
  const media = await navigator.mediaDevices.getUserMedia({audio: true, video});
  media.getTracks().forEach(track => link.addTrack(track, media));
  if (role == "caller") await link.setLocalDescription(); else await link.setRemoteDescription(await hear());
  if (role == "callee") await link.setLocalDescription();
  await gathered(link);
  await say("say", other, link.localDescription);
  if (role == "caller") await link.setRemoteDescription(await hear());
  setInterval(async () => {
    const all = [...(await link.getStats()).values()];
    const got = all.find(one => one.type == "inbound-rtp" && one.kind == "video") || {};
    const transport = all.find(one => one.type == "transport") || {};
    const pair = all.find(one => one.id == transport.selectedCandidatePairId) || {};
    await say("stats", role, {at: performance.now() / 1000, bytes: got.bytesReceived, frames: got.framesDecoded,
      lost: got.packetsLost, packets: got.packetsReceived, freezes: got.freezeCount,
      frozen: got.totalFreezesDuration, buffered: got.jitterBufferDelay, emitted: got.jitterBufferEmittedCount,
      rtt: pair.currentRoundTripTime});
  }, 1000);
})().catch(error => say("stats", role, {error: String(error)}));
</script>"""
LONG_POLL_S, STARTS_S = 10, 40


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives out the page, passes on descriptions of the call, and keeps what the browsers count."""

    said = {"caller": queue.Queue(), "callee": queue.Queue()}
    stats = {"caller": [], "callee": []}

    def do_GET(self):
        kind, _, whom = self.path.strip("/").partition("/")
        if kind == "hear":
            try:
                self._answer(self.said[whom].get(timeout=LONG_POLL_S))
            except queue.Empty:
                self.send_error(404)
        elif kind == "stats":
            self._answer(json.dumps(self.stats).encode())
        else:
            self._answer(PAGE.encode(), "text/html")

    def do_POST(self):
        kind, _, whom = self.path.strip("/").partition("/")
        if kind == "upload":
            while self.rfile.read(1 << 16):
                pass
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if kind == "say":
            self.said[whom].put(body)
        else:
            self.stats[whom].append(json.loads(body))
        self._answer(b"")

    def _answer(self, body, kind="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def browser(role, folder):
    """Start a browser at one end of the call."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        sys.exit("call.py needs chromium")
    words = [program, *FLAGS, f"--user-data-dir={folder}", f"http://{SERVER}/#{role}"]
    with open(os.path.join(folder, "said"), "wb") as said:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said)


def serve():
    """Serve the page and be the callee, until killed."""
    with tempfile.TemporaryDirectory() as folder, http.server.ThreadingHTTPServer(("", 8080), Handler) as server:
        browser("callee", folder)
        server.serve_forever()


def upload():
    """Send a file that does not end."""
    host, _, port = SERVER.partition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        connection.sendall(f"POST /upload/ HTTP/1.1\r\nHost: {SERVER}\r\n\r\n".encode())
        while True:
            connection.sendall(bytes(1 << 16))


def call(seconds, *, uploads):
    """Be the caller for some seconds of a call that stands, and print what both ends counted."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        own = browser("caller", folder)
        try:
            deadline = time.monotonic() + STARTS_S
            while min(map(len, heard().values())) < 2:
                if time.monotonic() > deadline:
                    sys.exit(f"call.py: no call stands after {STARTS_S} s; the browsers said {heard()}")
                time.sleep(0.5)
            if uploads:
                threading.Thread(target=upload, daemon=True).start()
            time.sleep(seconds)
            show(heard())
        finally:
            own.terminate()
            own.wait()


def heard():
    """Return the seconds of a call in which video came, as both ends counted them."""
    with urllib.request.urlopen(f"http://{SERVER}/stats/") as answer:
        stats = json.load(answer)
    for role, rows in stats.items():
        if errors := [one["error"] for one in rows if "error" in one]:
            sys.exit(f"call.py: the {role} said {errors[0]}")
    return {role: [one for one in rows if one["frames"]] for role, rows in stats.items()}


def show(stats):
    """Print a table: what each end got from the other."""
    heads = ("video", "Mbit/s", "frames/s", "lost %", "freezes", "frozen s", "jitter buffer ms", "RTT ms", "RTT p95 ms")
    print("".join(f"{head:>{len(head) + 3}}" for head in heads))
    for name, role in (("sent", "callee"), ("received", "caller")):
        first, last = stats[role][0], stats[role][-1]
        more = {key: last[key] - first[key] for key in first if key in last}
        rtts = sorted(1000 * row["rtt"] for row in stats[role] if row.get("rtt") is not None)
        values = [
            *(more["bytes"] * 8e-6 / more["at"], more["frames"] / more["at"]),
            100 * more["lost"] / max(1, more["lost"] + more["packets"]),
            *(more["freezes"], more["frozen"], 1000 * more["buffered"] / max(1, more["emitted"])),
            *(statistics.fmean(rtts), rtts[int(0.95 * (len(rtts) - 1))]),
        ]
        cells = [name, *(f"{value:.{digits}f}" for value, digits in zip(values, (2, 1, 2, 0, 1, 0, 0, 0), strict=True))]
        print("".join(f"{cell:>{len(head) + 3}}" for head, cell in zip(heads, cells, strict=True)))


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else call(float(sys.argv[1]), uploads="upload" in sys.argv)
