"""The tracer of a process."""

import subprocess
import sys

OFF = """
import sys
sys.modules["opentelemetry"] = None  # whoever imports it gets an ImportError
from aragog.settings import Settings
from aragog.client import Aragog
import aragog.bootstrap.stages, aragog.tasks.fetch, aragog.api.server.http.app
from aragog.observability.tracing.tracer import flush_spans, open_tracer
Aragog(Settings()).close()
assert open_tracer(Settings()) is None
flush_spans()
print("done")
"""


def test_process_without_tracing_does_not_import_opentelemetry(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", OFF], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout == "done\n", done.stderr


OF_A_PROGRAM = """
from dataclasses import replace
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from aragog.settings import Settings, TracingSettings
from aragog.observability.tracing.tracer import SpanPart, open_tracer
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
settings = replace(Settings(), tracing=TracingSettings(enabled=True))
open_tracer(settings).root("enqueue", SpanPart.PRODUCER, {}).end()
print([span.name for span in exporter.get_finished_spans()])
"""


def test_program_with_its_own_provider_gets_the_spans():
    done = subprocess.run(
        [sys.executable, "-c", OF_A_PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.stdout == "['enqueue']\n", done.stderr


ONE = """
from dataclasses import replace
from aragog.settings import Settings, TracingSettings
from aragog.observability.tracing.tracer import open_tracer
settings = replace(Settings(), tracing=TracingSettings(enabled=True, sample_ratio=0.5))
assert open_tracer(Settings()) is None
assert open_tracer(settings) is open_tracer(settings)
print(open_tracer(settings).ratio)
"""


def test_process_has_one_tracer(monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")

    done = subprocess.run([sys.executable, "-c", ONE], capture_output=True, text=True, check=False)

    assert done.stdout == "0.5\n", done.stderr
