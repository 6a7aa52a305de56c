#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Renders templates with Python's Jinja2 the way transformers does. For development only (needs python3-jinja2).

    jinja_oracle.py snippets OUT.json              writes the oracle of tests/text/jinja_test.cpp
    jinja_oracle.py chats TEMPLATE N SEED          N random conversations as JSON lines {"vars", "output" or "error"}
    jinja_oracle.py render < LINES                 {"template", "vars"} per line -> {"output"} or {"error", ...}
"""
import json
import random
import sys
import traceback

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class RaisedException(jinja2.TemplateError):
    pass


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise RaisedException(message)

    def strftime_now(format):
        from datetime import datetime
        return datetime.fromtimestamp(1700000000).strftime(format)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


ENV = environment()


def failure(error):
    """What a test can compare: Jinja's own messages word for word, Python's only by their presence."""
    out = {"error": type(error).__name__}
    if isinstance(error, jinja2.TemplateSyntaxError):
        out["line"] = error.lineno
    else:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename in ("<template>", "<unknown>")]
        if lines:
            out["line"] = lines[-1]
    if isinstance(error, (jinja2.TemplateError,)):
        out["message"] = str(error.message)
    return out


def render(template, variables):
    try:
        return {"output": ENV.from_string(template).render(**variables)}
    except Exception as error:  # noqa: BLE001 - any failure is an answer
        return failure(error)


def snippets(path):
    from jinja_snippets import DATA, all_snippets
    cases = [{"name": name, "template": template, **render(template, DATA)} for name, template in all_snippets()]
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"jinja2": %s,\n"vars": %s,\n"cases": [\n' % (json.dumps(jinja2.__version__), json.dumps(DATA)))
        out.write(",\n".join(json.dumps(case) for case in cases))
        out.write("\n]}\n")
    print(len(cases), "snippets,", sum("error" in case for case in cases), "of them errors")


WORDS = ["fox", "Lantern", "naïve", "日本", "😀", "<|turn>", "</think>", "<think>", "<|im_end|>", "{{ x }}", "{% if %}", "don't", '"q"', "a\\b",
         "x\ny", " ", "\n", "\t", "", "1.5", "true", "<tool_response>", "</tool_response>", "<|channel>thought\nhm<channel|>", "&amp;", "é"]


def text(rng):
    return rng.choice(["", " "]).join(rng.choice(WORDS) for _ in range(rng.randrange(6)))


def value(rng, depth=0):
    kind = rng.randrange(9 if depth < 3 else 6)
    if kind == 6:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind >= 7:
        return {rng.choice("abcXYZ") + rng.choice(["", "_k", "-h", "9"]): value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return [text(rng), rng.randrange(-10**6, 10**6), rng.uniform(-1e3, 1e3), rng.choice([True, False]), None,
            rng.choice([1e20, 1e-7, 0.1, 2.0, 10**15, 2**53, 2**64 - 1])][kind]


def content(rng, media=True):
    kind = rng.randrange(10)
    if kind < 6:
        return text(rng)
    if kind == 6:
        return None
    parts = [{"type": "text", "text": text(rng)}]
    if media:
        parts += [{"type": "image"}, {"type": "video"}, {"type": "audio"}, {"type": "image_url", "image_url": {"url": "x"}}, {"video": 1, "type": "video"}]
    return [rng.choice(parts) for _ in range(rng.randrange(4))]


def schema(rng, depth=0):
    kind = rng.choice(["string", "integer", "number", "boolean", "array", "object", "null", "STRING"])
    out = {}
    if rng.random() < 0.9:
        out["type"] = kind
    if rng.random() < 0.6:
        out["description"] = text(rng)
    if rng.random() < 0.3:
        out["enum"] = [rng.choice(["a", "B", 1, None, True]) for _ in range(rng.randrange(3))]
    if rng.random() < 0.2:
        out["nullable"] = rng.choice([True, False])
    if kind == "array" and depth < 3:
        out["items"] = rng.choice([schema(rng, depth + 1), {}, {"type": ["string", "null"]}, {"type": "object", "properties": {"q": schema(rng, depth + 1)}, "required": ["q"]}])
    if kind == "object" and depth < 3:
        if rng.random() < 0.8:
            out["properties"] = properties(rng, depth + 1)
        if rng.random() < 0.5:
            out["required"] = list(out.get("properties", {}))[:2]
    if rng.random() < 0.2:
        out["minimum"] = rng.randrange(5)
    return out


def properties(rng, depth=0):
    return {rng.choice(["city", "Unit", "days", "type", "description", "x-y", "é", "required", "b1"]): schema(rng, depth) for _ in range(rng.randrange(4))}


def tool(rng):
    function = {"name": rng.choice(["get_weather", "calc", "Plan.it"])}
    if rng.random() < 0.9:
        function["description"] = text(rng)
    if rng.random() < 0.9:
        function["parameters"] = {"type": "object", "properties": properties(rng), **({"required": ["city"]} if rng.random() < 0.5 else {})}
    if rng.random() < 0.1:
        function["response"] = {"description": text(rng), "type": rng.choice(["object", "string"])}
    return {"type": "function", "function": function}


def call(rng, number):
    arguments = {k: value(rng) for k in rng.sample(["city", "Days", "a b", "opts", "l"], rng.randrange(4))}
    function = {"name": rng.choice(["get_weather", "calc"]), "arguments": arguments if rng.random() < 0.9 else rng.choice(["", "raw", None])}
    out = {"id": f"c{number}", "type": "function", "function": function}
    return out if rng.random() < 0.95 else function


def conversation(rng):
    messages = []
    if rng.random() < 0.4:
        messages.append({"role": rng.choice(["system", "system", "developer"]), "content": content(rng, media=rng.random() < 0.2)})
    for _ in range(rng.randrange(1, 5)):
        if rng.random() < 0.95:
            messages.append({"role": "user", "content": content(rng)})
        while rng.random() < 0.7:
            message = {"role": "assistant"}
            if rng.random() < 0.9:
                message["content"] = content(rng, media=rng.random() < 0.2)
            if rng.random() < 0.4:
                message[rng.choice(["reasoning_content", "reasoning"])] = text(rng)
            if rng.random() < 0.4:
                message["tool_calls"] = [call(rng, i) for i in range(rng.randrange(3))]
            if rng.random() < 0.05:
                message["tool_responses"] = [{"name": "calc", "response": value(rng)}]
            messages.append(message)
            for i in range(len(message.get("tool_calls", []))):
                if rng.random() < 0.8:
                    reply = {"role": "tool", "content": rng.choice([content(rng, media=False), value(rng)])}
                    if rng.random() < 0.7:
                        reply["tool_call_id"] = f"c{i}"
                    if rng.random() < 0.3:
                        reply["name"] = "calc"
                    messages.append(reply)
            if rng.random() < 0.6:
                break
    if rng.random() < 0.03:
        messages.insert(rng.randrange(len(messages) + 1), {"role": rng.choice(["system", "critic"]), "content": text(rng)})
    variables = {"messages": messages, "bos_token": "<bos>", "eos_token": "<eos>"}
    if rng.random() < 0.5:
        variables["tools"] = [tool(rng) for _ in range(rng.randrange(4))]
    for name, odds in [("add_generation_prompt", 0.8), ("enable_thinking", 0.7), ("add_vision_id", 0.3), ("preserve_thinking", 0.2)]:
        if rng.random() < odds:
            variables[name] = rng.choice([True, False])
    return variables


def chats(path, count, seed):
    rng = random.Random(seed)
    template = ENV.from_string(open(path, encoding="utf-8").read())
    for _ in range(count):
        variables = json.loads(json.dumps(conversation(rng)))
        try:
            result = {"output": template.render(**variables)}
        except Exception as error:  # noqa: BLE001
            result = failure(error)
        print(json.dumps({"file": path, "vars": variables, **result}))


def main():
    command = sys.argv[1]
    if command == "snippets":
        snippets(sys.argv[2])
    elif command == "chats":
        chats(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif command == "render":
        for line in sys.stdin:
            case = json.loads(line)
            print(json.dumps(render(case["template"], case["vars"])))


if __name__ == "__main__":
    main()
