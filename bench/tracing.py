"""
Measure the cost of traces: CPU of all stages per page, with tracing off, on, and on for every URL.

    python -m bench.tracing [--pages 100] [--rounds 12] [--compare CHECKOUT]

Each side is a process that enqueues URLs and runs their stages on a private Redis, SQLite and an
origin on loopback, which serves pages of 57 KB. Its CPU time counts, including the exporting
thread's; a collector in this process receives the spans. The sides take turns, and each number is
the median of its rounds. `--compare` adds the code of another checkout, such as the commit before
traces.

A busy machine adds more to these times than traces do. The second table therefore measures the work
of traces separately: what all stages of one URL do for them, in a loop, compared with the CPU of a
page.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from rich.console import Console
from rich.table import Table

from aragog.crawl.fetcher.gate import OpenGate
from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.pipeline.url_traces import UrlTraces
from aragog.fetch_record.outcome import Fetched
from aragog.observability.tracing.open_telemetry import OtelTracer
from bench.pinlater import server
from bench.quick import add_quick
from tests.support.origin import Origin, answer, page

ROOT = Path(__file__).parents[1]
HTML = (
    "<!doctype html><title>Library</title><body>"
    + "".join(
        f'<h2 id="s{n}">Section {n}</h2><p>Some words about <code>item_{n}</code>, '
        f'<a href="/library/page-{n}.html">a link</a> and more words of a page of documentation.</p>\n'
        for n in range(330)
    )
).encode()
BATCH = 25
STAGES = ("fetch", "canonicalize", "store")


@dataclass
class Side:
    """One way to crawl, and its CPU time per page of each round (ms)."""

    name: str
    process: subprocess.Popen[str]
    samples_ms: list[float] = field(default_factory=list)

    def crawl(self, first: int, count: int) -> None:
        """Run one round."""
        print(first, count, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the side {self.name!r} ended")
        self.samples_ms.append(float(line) / count * 1000)


@contextmanager
def span_collector() -> Iterator[str]:
    """Run a collector that reads spans and discards them."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}"
    finally:
        listener.shutdown()
        listener.server_close()


@contextmanager
def run_side(name: str, origin: str, checkout: Path, **environ: str) -> Iterator[Side]:
    """Run the process of a side, with separate servers."""
    with server() as redis_server, tempfile.TemporaryDirectory(prefix="bench") as folder:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "OTEL_"))}
        settings = {
            "ARAGOG_SETTINGS": "",
            "ARAGOG_DATA_DIR": folder,
            "ARAGOG_REDIS__URL": redis_server.url,
            "ARAGOG_BROKER__URL": f"redis+socket://{redis_server.socket}",
            "ARAGOG_POLITENESS__QPS": "1000",
            "ARAGOG_FETCH__HOST_MAP": f"*.test={origin}",
            "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
            "ARAGOG_FETCH__USER_AGENT": "bench/1.0 (+http://127.0.0.1/)",
        }
        process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("tracing_probe.py"))],
            env={**inherited, **settings, **environ, "PYTHONPATH": str(checkout)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            yield Side(name, process)
        finally:
            process.stdin.close()
            process.wait(30)


def run_sides(pages: int, rounds: int, checkout: Path | None) -> list[Side]:
    """Return all sides after their rounds, in turn."""
    handlers = {"/robots.txt": answer(404), "/*": page(HTML)}
    with Origin(handlers) as origin, span_collector() as endpoint, ExitStack() as stack:
        enabled = {"ARAGOG_TRACING__ENABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        configurations = [("off", ROOT, {})]
        if checkout is not None:
            configurations.append((f"the code of {checkout.name}", checkout, {}))
        configurations += [
            ("on, 1% (the default)", ROOT, enabled),
            ("on, every URL", ROOT, enabled | {"ARAGOG_TRACING__SAMPLE_RATIO": "1"}),
        ]
        sides = [
            stack.enter_context(run_side(name, origin.address, code, **environ))
            for name, code, environ in configurations
        ]
        for number in range(rounds + 1):
            for measured_side in sides:
                measured_side.crawl(number * pages, pages)
        for measured_side in sides:
            del measured_side.samples_ms[0]  # robots.txt, connections and imports
        return sides


class EncodingExporter(SpanExporter):
    """Encodes spans as for sending."""

    def export(self, spans):
        encode_spans(spans).SerializePartialToString()
        return SpanExportResult.SUCCESS


class BatchingProcessor:
    """A processor that keeps spans and exports them together, like the SDK's thread."""

    def __init__(self) -> None:
        self.spans = []

    def on_start(self, *_args, **_named):
        pass

    _on_ending = on_start

    def on_end(self, span):
        self.spans.append(span)
        if len(self.spans) >= 512:
            EncodingExporter().export(self.spans)
            self.spans = []

    def shutdown(self):
        pass

    def force_flush(self, _timeout_ms=0):
        return True


def trace_work(traces: UrlTraces, is_traced: bool) -> Callable[[], None]:
    """
    Return a function that does the trace work of `enqueue` and three stages for one
    batch of URLs.
    """
    urls = [f"http://h{n}.test/library/page-{n}.html" for n in range(BATCH)]
    outcome = Fetched(url=urls[0], final_url=urls[0], status=200, body=b"", address="127.0.0.1")

    def run() -> None:
        call = traces.call("", "")
        with call.trace_sending(urls, {"aragog.depth": 0}):
            jobs = [UrlJob(url=url, **call.job(url)) for url in urls]
        for stage in STAGES:
            with traces.stage(stage, jobs) as spans:
                for job in jobs:
                    if stage == "fetch":
                        requests = spans.requests(job, OpenGate())
                        if requests is not None:
                            requests.acquire_permit(job.url)
                            requests.release_permit(job.url)
                            spans.record_requests(job, requests, outcome)
                    elif stage == "canonicalize":
                        with spans.subspan(job, "read page"):
                            pass
                    if is_traced:
                        spans.event(job, "stored", wait_ms=3)
                message = OutgoingMessage(Destination.FETCH, FetchBatch(tuple(jobs)))
                jobs = list(spans.with_departure_times([message])[0].message.jobs)

    return run


def without_traces() -> None:
    """Handle the same jobs and messages without traces."""
    urls = [f"http://h{n}.test/library/page-{n}.html" for n in range(BATCH)]
    Fetched(url=urls[0], final_url=urls[0], status=200, body=b"", address="127.0.0.1")
    jobs = [UrlJob(url=url) for url in urls]
    for _ in STAGES:
        message = OutgoingMessage(Destination.FETCH, FetchBatch(tuple(jobs)))
        jobs = list(message.message.jobs)


def cpu_us(run: Callable[[], None], times: int) -> float:
    """Return the CPU per URL in µs: the shortest of five runs."""
    samples = []
    for _ in range(5):
        started_s = time.process_time()
        for _ in range(times):
            run()
        samples.append((time.process_time() - started_s) / times / BATCH * 1e6)
    return min(samples)


def trace_costs(times: int) -> list[tuple[str, float]]:
    """Return the CPU of traces per URL, in µs."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchingProcessor())
    bare_us = cpu_us(without_traces, times)
    rows = []
    for name, ratio in (
        ("off", None),
        ("on, a URL that is not traced", 0.0),
        ("on, a traced URL", 1.0),
    ):
        traces = UrlTraces(None if ratio is None else OtelTracer(provider, ratio))
        run = trace_work(traces, bool(ratio))
        rows.append((name, cpu_us(run, max(1, times // 20) if ratio else times) - bare_us))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--compare", type=Path, metavar="CHECKOUT")
    add_quick(parser, pages=20, rounds=1)
    options = parser.parse_args()
    sides = run_sides(options.pages, options.rounds, options.compare)
    off_ms = statistics.median(sides[0].samples_ms)
    table = Table("", "CPU ms per page", "best round", "vs. off", box=None)
    for measured_side in sides:
        pairs = zip(measured_side.samples_ms, sides[0].samples_ms, strict=True)
        ratio = statistics.median(side_ms / off_ms_of_round for side_ms, off_ms_of_round in pairs)
        table.add_row(
            measured_side.name,
            f"{statistics.median(measured_side.samples_ms):.2f}",
            f"{min(measured_side.samples_ms):.2f}",
            f"{(ratio - 1) * 100:+.1f}%",
        )
    Console().print(table)
    table = Table("the work of traces", "CPU µs per URL", "share of a page", box=None)
    rows = trace_costs(20 if options.quick else 2000)
    for name, us in rows:
        table.add_row(name, f"{us:.2f}", f"{us / off_ms / 10:.2f}%")
    (_, idle_us), (_, traced_us) = rows[1:]
    for share in (0.01, 0.1):
        us = (1 - share) * idle_us + share * traced_us
        name = f"on, {share:.0%} of URLs"
        table.add_row(name, f"{us:.2f}", f"{us / off_ms / 10:.2f}%")
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
