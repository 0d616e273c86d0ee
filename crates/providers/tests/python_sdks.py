"""Compares our requests and our reading of streams with the official Python SDKs.

Usage: python_sdks.py SDK_EXCHANGE

- Every request body that SDK_EXCHANGE makes has to fit the SDKs' own types: pydantic validates it,
  and since pydantic lets unknown keys of a TypedDict pass, a walk over the types refuses those.
  Names and ids, which models invent, have to fit the patterns of the services.
- Every stream that an SDK reads to a message has to mean the same message to us, whole, byte by
  byte, and parted at every border.

The last lines count what was compared; the exit code is 1 if anything differs.
"""

import collections.abc
import functools
import json
import random
import re
import subprocess
import sys
import types
import typing
from typing import Any

import anthropic
import httpx2
import openai
import pydantic
import typing_extensions
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

PARAMS = {
    "anthropic": MessageCreateParamsStreaming,
    "chat": CompletionCreateParamsStreaming,
    "responses": ResponseCreateParamsStreaming,
}

# What servers other than OpenAI want to have back with a message of the model.
VENDOR_KEYS = {"reasoning_content", "reasoning_details"}

# Made-up streams for each API, and how many of all streams are parted at every single border.
STREAMS = 200
EVERY_BORDER = 12


# Requests


@functools.cache
def adapter(kind: Any) -> pydantic.TypeAdapter:
    return pydantic.TypeAdapter(kind)


@functools.cache
def hints_of(kind: Any) -> dict[str, Any]:
    return typing_extensions.get_type_hints(kind, include_extras=True)


def problems(value: Any, kind: Any, path: str = "body") -> list[str]:
    """What does not fit, unknown keys included."""
    origin = typing.get_origin(kind)
    if kind in (Any, object):
        return []
    if isinstance(kind, typing_extensions.TypeAliasType):
        return problems(value, kind.__value__, path)
    if origin in (typing.Annotated, typing_extensions.Required, typing_extensions.NotRequired):
        return problems(value, typing.get_args(kind)[0], path)
    if origin in (typing.Union, types.UnionType):
        found = [problems(value, member, path) for member in typing.get_args(kind)]
        # The member that fits best is the one that was meant.
        return min(found, key=len)
    if origin is typing.Literal:
        return [] if value in typing.get_args(kind) else [f"{path}: {value!r} is none of {kind}"]
    if typing_extensions.is_typeddict(kind):
        return problems_of_dict(value, kind, path)
    if origin in (dict, collections.abc.Mapping):
        if not isinstance(value, dict):
            return [f"{path}: no object"]
        member = typing.get_args(kind)[1]
        return [found for key in value for found in problems(value[key], member, f"{path}.{key}")]
    if origin is not None and issubclass(origin, (collections.abc.Iterable, typing.Protocol)):
        if not isinstance(value, list):
            return [f"{path}: no list"]
        member = typing.get_args(kind)[0]
        return [found for at, item in enumerate(value) for found in problems(item, member, f"{path}[{at}]")]
    try:
        adapter(kind).validate_python(value, strict=True)
    except pydantic.ValidationError as error:
        return [f"{path}: {line['msg']}" for line in error.errors()]
    return []


def problems_of_dict(value: Any, kind: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: no object"]
    hints = hints_of(kind)
    found = []
    for key, hint in hints.items():
        is_required = typing.get_origin(hint) is typing_extensions.Required
        if is_required and key not in value:
            found.append(f"{path}.{key}: missing")
    for key, member in value.items():
        if key in hints:
            found += problems(member, hints[key], f"{path}.{key}")
        elif key not in VENDOR_KEYS:
            found.append(f"{path}.{key}: unknown")
    return found


def exhaust(value: Any) -> None:
    """pydantic validates an Iterable only as it is read."""
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, (str, bytes)) or not isinstance(value, collections.abc.Iterable):
        return
    for member in value:
        exhaust(member)


NAMES = {"anthropic": r"[a-zA-Z0-9_-]{1,128}", "chat": r"[a-zA-Z0-9_-]{1,64}", "responses": r"[a-zA-Z0-9_-]{1,64}"}
IDS = {"anthropic": r"[a-zA-Z0-9_-]+", "chat": r"[!-~]{1,40}", "responses": r"[!-~]{1,64}"}


def misfits(value: Any, api: str) -> list[str]:
    """Names and ids of calls that the service would refuse."""
    if isinstance(value, list):
        return [found for member in value for found in misfits(member, api)]
    if not isinstance(value, dict):
        return []
    found = [found for member in value.values() for found in misfits(member, api)]
    kind = value.get("type")
    is_call = kind in ("tool_use", "function_call") or "arguments" in value
    if is_call and not re.fullmatch(NAMES[api], value.get("name", "tool")):
        found.append(f"the name {value['name']!r}")
    ids = [value[key] for key in ("tool_use_id", "tool_call_id", "call_id") if key in value]
    if kind in ("tool_use", "function") and "id" in value:
        ids.append(value["id"])
    return found + [f"the id {id!r}" for id in ids if not re.fullmatch(IDS[api], id)]


def check_requests(program: str) -> list[str]:
    failures, counts = [], collections.Counter()
    for line in run(program, "requests"):
        api, body = line["api"], line["body"]
        counts[api] += 1
        found = problems(body, PARAMS[api]) + misfits(body, api)
        try:
            exhaust(adapter(PARAMS[api]).validate_python(body))
        except pydantic.ValidationError as error:
            found.append(f"pydantic: {error.error_count()} errors")
        failures += [f"{api}: {problem}\n  {json.dumps(body)}" for problem in found]
    print(f"requests: {dict(counts)}, {len(failures)} problems")
    spoilt = {"model": "m", "max_tokens": 1, "stream": True, "messages": [], "colour": "red"}
    if not problems(spoilt, PARAMS["anthropic"]):
        failures.append("a key that the SDK does not know was not noticed")
    if not misfits([{"type": "tool_use", "id": "a.b:0", "name": "t"}], "anthropic"):
        failures.append("an id that the service refuses was not noticed")
    return failures


# Streams as the SDKs read them


class Feed(httpx2.SyncByteStream):
    def __init__(self, data: bytes):
        self.data = data

    def __iter__(self):
        yield self.data


def client_for(data: bytes) -> httpx2.Client:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=Feed(data))

    return httpx2.Client(transport=httpx2.MockTransport(answer))


QUESTION = [{"role": "user", "content": "?"}]


def read_anthropic(data: bytes) -> dict[str, Any]:
    client = anthropic.Anthropic(api_key="k", http_client=client_for(data), max_retries=0)
    with client.messages.stream(model="m", max_tokens=1, messages=QUESTION) as stream:
        message = stream.get_final_message()
    parts: list[Any] = []
    for block in message.content:
        if block.type == "text":
            add_text(parts, block.text)
        elif block.type == "tool_use":
            parts.append(["call", block.id, block.name, block.input])
        else:
            parts.append(["kept", block.to_dict(exclude_unset=True, mode="json")])
    usage = message.usage
    stops = {"end_turn": "EndOfTurn", "tool_use": "ToolUse", "max_tokens": "MaxTokens", "refusal": "Refusal"}
    cached = [usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0]
    return {
        "parts": parts,
        "stop": stops[message.stop_reason],
        "usage": [usage.input_tokens, usage.output_tokens, *cached],
    }


def read_chat(data: bytes) -> dict[str, Any]:
    client = openai.OpenAI(api_key="k", http_client=client_for(data), max_retries=0)
    with client.chat.completions.stream(model="m", messages=QUESTION) as stream:
        completion = stream.get_final_completion()
    choice = completion.choices[0]
    parts: list[Any] = []
    add_text(parts, choice.message.content or "")
    for call in choice.message.tool_calls or []:
        parts.append(["call", call.id, call.function.name, arguments(call.function.arguments)])
    stops = {"stop": "EndOfTurn", "tool_calls": "ToolUse", "length": "MaxTokens", "content_filter": "Refusal"}
    usage = completion.usage
    details = usage and usage.prompt_tokens_details
    cached = (details and details.cached_tokens) or 0
    counted = usage and [usage.prompt_tokens - cached, usage.completion_tokens, cached, 0]
    return {"parts": parts, "stop": stops[choice.finish_reason], "usage": counted}


def read_responses(data: bytes) -> dict[str, Any]:
    client = openai.OpenAI(api_key="k", http_client=client_for(data), max_retries=0)
    final = None
    with client.responses.stream(model="m", input="?") as stream:
        for event in stream:
            if event.type in ("response.completed", "response.incomplete"):
                final = event.response
    assert final is not None, "no end"
    parts: list[Any] = []
    for item in final.output:
        if item.type == "message":
            for content in item.content:
                add_text(parts, content.text)
        elif item.type == "function_call":
            parts.append(["call", item.call_id, item.name, arguments(item.arguments)])
        else:
            parts.append(["kept", item.to_dict(exclude_unset=True, mode="json")])
    called = any(part[0] == "call" for part in parts)
    stop = "ToolUse" if called else "EndOfTurn"
    if final.status == "incomplete":
        stop = {"max_output_tokens": "MaxTokens", "content_filter": "Refusal"}[final.incomplete_details.reason]
    usage = final.usage
    cached = usage and usage.input_tokens_details.cached_tokens
    counted = usage and [usage.input_tokens - cached, usage.output_tokens, cached, 0]
    return {"parts": parts, "stop": stop, "usage": counted}


READERS = {"anthropic": read_anthropic, "chat": read_chat, "responses": read_responses}


def add_text(parts: list[Any], text: str) -> None:
    if not text:
        return
    if parts and parts[-1][0] == "text":
        parts[-1][1] += text
    else:
        parts.append(["text", text])


def arguments(text: str) -> Any:
    return json.loads(text) if text.strip() else {}


# Streams that are made up


class Maker:
    """Streams of one API from a fixed seed, written in all the ways in which servers write them."""

    def __init__(self, seed: int):
        self.dice = random.Random(seed)
        self.calls = 0

    def text(self) -> str:
        words = ["a ", "häß", "→🦀", "\n\n", "data: x", '"', "\\", "\t", "</tool_call>", "event"]
        rare = ["\u2028"] if self.dice.random() < 0.03 else []
        return "".join(self.dice.choices(words, k=self.dice.randint(1, 8)) + rare)

    def pieces(self, text: str) -> list[str]:
        if not text or self.dice.random() < 0.2:
            return [text]
        borders = sorted(self.dice.sample(range(len(text) + 1), k=min(len(text), self.dice.randint(0, 4))))
        return [text[a:b] for a, b in zip([0, *borders], [*borders, len(text)])]

    def call(self) -> tuple[str, str, str]:
        self.calls += 1
        value = self.dice.choice([{}, {"path": self.text()}, {"n": [1, -2.5, None, True, {"a": self.text()}]}])
        written = json.dumps(value, ensure_ascii=self.dice.random() < 0.5)
        return f"call_{self.calls}", self.dice.choice(["grep", "read_file"]), written

    def usage(self) -> list[int]:
        return [self.dice.randint(0, 999) for _ in range(3)]

    def written(self, events: list[tuple[str | None, Any]]) -> str:
        """The events as bytes would have them: line ends, comments and fields vary."""
        end = self.dice.choice(["\n", "\n", "\r\n"])
        gap = self.dice.choice([" ", " ", ""])
        has_ids = self.dice.random() < 0.05
        lines = []
        for name, data in events:
            if self.dice.random() < 0.1:
                lines += [": PROCESSING", ""]
            if name:
                lines.append(f"event:{gap}{name}")
            if has_ids:
                lines.append("id: 7")
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=self.dice.random() < 0.5)
            lines += [f"data:{gap}{text}", ""]
        return end.join(lines) + end

    def anthropic(self) -> str:
        prompt, output, cached = self.usage()
        usage = {"input_tokens": prompt, "output_tokens": 1, "cache_read_input_tokens": cached}
        head = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": []}
        events = [{"type": "message_start", "message": {**head, "stop_reason": None, "usage": usage}}]
        called = False
        for index in range(self.dice.randint(0, 5)):
            kind = self.dice.choice(["text", "thinking", "redacted_thinking", "tool_use"])
            called |= kind == "tool_use"
            start, deltas = self.anthropic_block(kind)
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            for delta in deltas:
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
                if self.dice.random() < 0.1:
                    events.append({"type": "ping"})
            events.append({"type": "content_block_stop", "index": index})
        reason = "tool_use" if called else self.dice.choice(["end_turn", "max_tokens", "refusal"])
        delta = {"stop_reason": reason, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}})
        events.append({"type": "message_stop"})
        return self.written([(event["type"], event) for event in events])

    def anthropic_block(self, kind: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        if kind == "text":
            pieces = self.pieces(self.text())
            return {"type": kind, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
        if kind == "thinking":
            pieces = self.pieces(self.text())
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
            sealed = {"type": "signature_delta", "signature": "sealed"}
            return {"type": kind, "thinking": "", "signature": ""}, [*deltas, sealed]
        if kind == "redacted_thinking":
            return {"type": kind, "data": "sealed"}, []
        call, name, written = self.call()
        pieces = [] if written == "{}" and self.dice.random() < 0.5 else self.pieces(written)
        start = {"type": kind, "id": call, "name": name, "input": {}}
        return start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]

    def chat(self) -> str:
        prompt, output, cached = self.usage()
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        events: list[Any] = []

        def add(delta: dict[str, Any], reason: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            events.append({**base, "choices": [choice], "usage": None})

        add({"role": "assistant", "content": self.dice.choice(["", None])})
        for piece in self.pieces(self.text()) if self.dice.random() < 0.7 else []:
            add({"content": piece})
        calls = [self.call() for _ in range(self.dice.randint(0, 3))]
        for index, (call, name, written) in enumerate(calls):
            pieces = self.pieces(written)
            whole = self.dice.random() < 0.3
            first = {"name": name, "arguments": written if whole else ""}
            add({"tool_calls": [{"index": index, "id": call, "type": "function", "function": first}]})
            for piece in [] if whole else pieces:
                add({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        add({}, "tool_calls" if calls else self.dice.choice(["stop", "length", "content_filter"]))
        if self.dice.random() < 0.7:
            total = prompt + cached
            details = {"cached_tokens": cached}
            usage = {"prompt_tokens": total, "completion_tokens": output, "total_tokens": total + output}
            events.append({**base, "choices": [], "usage": {**usage, "prompt_tokens_details": details}})
        return self.written([(None, event) for event in [*events, "[DONE]"]])

    def responses(self) -> str:
        prompt, output, cached = self.usage()
        base = {"id": "r", "object": "response", "created_at": 1, "model": "m", "tools": []}
        base |= {"parallel_tool_calls": True, "tool_choice": "auto"}
        begun = {**base, "status": "in_progress", "output": []}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
        items = []
        for index in range(self.dice.randint(0, 4)):
            items.append(self.response_item(index, events))
        called = any(item["type"] == "function_call" for item in items)
        reason = None if called else self.dice.choice([None, None, "max_output_tokens"])
        status = "incomplete" if reason else "completed"
        total = prompt + cached
        usage = {"input_tokens": total, "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0}}
        usage |= {"output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0}}
        usage |= {"total_tokens": total + output}
        details = {"reason": reason} if reason else None
        last = {**base, "status": status, "output": items, "usage": usage, "incomplete_details": details}
        events.append({"type": f"response.{status}", "response": last})
        for number, event in enumerate(events):
            event["sequence_number"] = number
        return self.written([(event["type"], event) for event in events])

    def response_item(self, index: int, events: list[dict[str, Any]]) -> dict[str, Any]:
        kind = self.dice.choice(["message", "function_call", "reasoning"])
        place = {"output_index": index, "item_id": f"i{index}"}
        empty_text = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        if kind == "message":
            text = self.text()
            head = {"type": kind, "id": f"i{index}", "role": "assistant"}
            item = {**head, "status": "completed", "content": [{**empty_text, "text": text}]}
            begun = {**head, "status": "in_progress", "content": []}
            delta = {"type": "response.output_text.delta", "content_index": 0, "logprobs": [], **place}
            part = {"type": "response.content_part.added", "content_index": 0, "part": empty_text, **place}
            middle = [part, *({**delta, "delta": piece} for piece in self.pieces(text))]
        elif kind == "function_call":
            call, name, written = self.call()
            head = {"type": kind, "id": f"i{index}", "call_id": call, "name": name}
            item = {**head, "status": "completed", "arguments": written}
            begun = {**head, "status": "in_progress", "arguments": ""}
            delta = {"type": "response.function_call_arguments.delta", **place}
            middle = [{**delta, "delta": piece} for piece in self.pieces(written)]
        else:
            head = {"type": kind, "id": f"i{index}", "encrypted_content": "sealed"}
            item = {**head, "summary": [{"type": "summary_text", "text": self.text()}]}
            begun, middle = {**head, "summary": []}, []
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events.extend(middle)
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        return item


def check_streams(program: str) -> list[str]:
    tasks = run(program, "streams")
    for api in READERS:
        tasks += [{"api": api, "stream": getattr(Maker(seed), api)()} for seed in range(STREAMS)]
    for at, task in enumerate(tasks):
        task["every_border"] = at % (len(tasks) // EVERY_BORDER) == 0
    ours = run(program, "read", "".join(json.dumps(task) + "\n" for task in tasks))
    failures, read, unread = [], collections.Counter(), collections.Counter()
    for task, mine in zip(tasks, ours, strict=True):
        api = task["api"]
        try:
            theirs = READERS[api](task["stream"].encode())
        except Exception as error:  # Whatever an SDK cannot read is not compared.
            unread[f"{api}: {type(error).__name__}"] += 1
            continue
        read[api] += 1
        if json.loads(json.dumps(theirs)) != mine:
            failures.append(f"{api}:\n  sdk  {json.dumps(theirs)}\n  ours {json.dumps(mine)}\n  {task['stream']!r}")
    print(f"streams: {dict(read)} read by both, {dict(unread)} not by the SDK, {len(failures)} differ")
    # The SDK for OpenAI parts lines at separators within strings, and has no message for limits.
    if any(read[api] < STREAMS * 2 // 3 for api in READERS):
        failures.append("too few streams were compared")
    return failures


def run(program: str, mode: str, text: str = "") -> list[dict[str, Any]]:
    done = subprocess.run([program, mode], input=text, capture_output=True, text=True, check=True)
    # Not splitlines(), which also parts at separators within strings.
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def main() -> int:
    program = sys.argv[1]
    failures = check_requests(program) + check_streams(program)
    for failure in failures[:10]:
        print(failure)
    print("the official SDKs agree" if not failures else f"{len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
