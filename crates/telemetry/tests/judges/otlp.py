"""Telemetry and metrics, read by the packages of OpenTelemetry and Prometheus.

Usage: otlp.py BINARY

`toolkiln run`, `toolkiln web` and `toolkiln mcp` send to a collector that is this script. What arrives is decoded by the official
types, every name is looked for in the official list, and the text of `/metrics` is parsed by the official client.
"""

import http.server
import inspect
import sys

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.semconv._incubating.attributes import (
    error_attributes,
    gen_ai_attributes,
    jsonrpc_attributes,
    mcp_attributes,
    service_attributes,
)
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.schemas import Schemas
from prometheus_client.parser import text_string_to_metric_families

import partners

# The attributes that are ours are named so.
OWN = "toolkiln."
KINDS = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}
ANSWERS = {"/v1/traces": ExportTraceServiceResponse, "/v1/metrics": ExportMetricsServiceResponse}
received = []


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        assert self.headers["content-type"] == "application/x-protobuf", self.headers
        message = KINDS[self.path]()
        message.ParseFromString(body)
        # A field that the types do not know would be dropped here.
        assert message.SerializeToString(deterministic=True) and not unknown(message), self.path
        received.append((self.path, message))
        answer = ANSWERS[self.path]().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def unknown(message):
    """Whether a message or anything in it has fields that the types do not know: then what is written again is shorter
    after they were discarded."""
    before = message.ByteSize()
    copy = type(message)()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    return copy.ByteSize() != before


def names_in(module):
    return {value for name, value in inspect.getmembers(module) if name.isupper() and isinstance(value, str)}


MODULES = [error_attributes, gen_ai_attributes, jsonrpc_attributes, mcp_attributes, service_attributes]
KNOWN = set().union(*map(names_in, MODULES))


def attributes(pairs):
    found = {}
    for pair in pairs:
        assert pair.key not in found, f"{pair.key} is there twice"
        assert pair.key in KNOWN or pair.key.startswith(OWN), f"{pair.key} is not a name of the conventions"
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        found[pair.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


def spans():
    requests = [message for path, message in received if path == "/v1/traces"]
    for resource in (resource for message in requests for resource in message.resource_spans):
        assert resource.schema_url in {schema.value for schema in Schemas}, resource.schema_url
        assert attributes(resource.resource.attributes)["service.name"] == "toolkiln"
        for scope in resource.scope_spans:
            yield from scope.spans


def check_trace(found):
    """One turn: an agent that asks twice and reads once in between."""
    by_id = {span.span_id: span for span in found}
    assert len(by_id) == len(found) and all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in found)
    roots = [span for span in found if not span.parent_span_id]
    assert [span.name for span in roots] == ["invoke_agent toolkiln"], roots
    for span in found:
        parent = by_id.get(span.parent_span_id, roots[0])
        assert parent.trace_id == span.trace_id
        assert parent.start_time_unix_nano <= span.start_time_unix_nano
        assert span.start_time_unix_nano <= span.end_time_unix_nano <= parent.end_time_unix_nano
        assert span.status.code == Status.STATUS_CODE_UNSET
    names = sorted(span.name for span in found)
    assert names == ["chat scripted-1", "chat scripted-1", "execute_tool read_file", "invoke_agent toolkiln"], names
    chat = next(span for span in found if span.name.startswith("chat"))
    told = attributes(chat.attributes)
    assert chat.kind == Span.SPAN_KIND_CLIENT
    assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == ("chat", "openai"), told
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (120, 30), told
    assert attributes(roots[0].attributes)["gen_ai.usage.input_tokens"] == 240
    return attributes(roots[0].attributes)["gen_ai.conversation.id"]


def check_served(found):
    """A call over MCP is a part of the trace that it names."""
    [span] = found
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (partners.TRACE, partners.SPAN), span
    assert (span.name, span.kind, span.trace_state) == ("tools/call read_file", Span.SPAN_KIND_SERVER, "vendor=1")
    told = attributes(span.attributes)
    assert (told["mcp.method.name"], told["gen_ai.tool.name"]) == ("tools/call", "read_file"), told
    assert (told["jsonrpc.request.id"], told["mcp.protocol.version"]) == ("2", "2025-11-25"), told


def check_metrics():
    message = [message for path, message in received if path == "/v1/metrics"][-1]
    metrics = message.resource_metrics[0].scope_metrics[0].metrics
    assert {metric.name for metric in metrics} <= names_in(gen_ai_metrics), metrics
    for metric in metrics:
        assert metric.histogram.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        for point in metric.histogram.data_points:
            assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
            assert sum(point.bucket_counts) == point.count > 0
            assert point.start_time_unix_nano < point.time_unix_nano
            attributes(point.attributes)
    tokens = next(metric for metric in metrics if metric.name == "gen_ai.client.token.usage")
    sums = {attributes(point.attributes)["gen_ai.token.type"]: point.sum for point in tokens.histogram.data_points}
    assert sums == {"input": 240.0, "output": 60.0}, sums


def check_exposition(text):
    families = {family.name: family for family in text_string_to_metric_families(text)}
    counted = lambda name, **labels: next(
        sample.value
        for sample in families[name].samples
        if labels.items() <= sample.labels.items() and not sample.name.endswith("_created")
    )
    assert counted("toolkiln_turns", end="done") == 1
    assert counted("toolkiln_tokens", type="input") == 240
    assert counted("toolkiln_tool_calls", outcome="ok") == 1
    assert counted("toolkiln_sessions", state="idle") == 1
    assert families["toolkiln_http_request_duration_seconds"].type == "histogram"
    assert all(family.documentation for family in families.values())


def main(binary):
    place = partners.Place(binary)
    collector = partners.server(Collector)
    place.run(OTEL_EXPORTER_OTLP_ENDPOINT=collector)
    conversation = check_trace(list(spans()))
    check_metrics()
    sent = b"".join(message.SerializeToString() for _, message in received)
    assert partners.QUESTION.encode() not in sent and partners.ANSWER.encode() not in sent
    print("toolkiln run: 4 spans and 2 metrics as OpenTelemetry reads them")
    received.clear()
    process, address, token = place.serve(OTEL_EXPORTER_OTLP_ENDPOINT=collector)
    try:
        session = partners.turn(address, token)
        check_exposition(partners.ask(address, "/metrics"))
        assert partners.ask(address, "/healthz") == "ok\n"
    finally:
        process.terminate()
        assert process.wait(partners.PATIENCE) is not None
    assert check_trace(list(spans())) == session != conversation
    check_metrics()
    print("toolkiln web: the same, and /metrics as Prometheus reads it")
    received.clear()
    place.called(OTEL_EXPORTER_OTLP_ENDPOINT=collector)
    check_served(list(spans()))
    print("toolkiln mcp: a call as a part of its caller's trace")


if __name__ == "__main__":
    main(sys.argv[1])
