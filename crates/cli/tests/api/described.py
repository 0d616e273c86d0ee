"""Checks that the service is what its description says: `described.py BINARY`.

openapi-spec-validator reads the description. schemathesis makes requests from it, good and bad ones, and compares every answer with
it: no answer may be an error of the service (5xx), have a status or a content type that is not described, or not fit its schema.
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'page'))

from openapi_spec_validator import validate  # noqa: E402

from harness import World  # noqa: E402
from model import call  # noqa: E402

# For each operation. The same every time, because the generation is deterministic.
EXAMPLES = '5'
# Requests without a token are the attack suite's (`tests/it/web`): after some of them, every further one is answered 429.
CHECKS = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method'
# More than there are messages.
ANSWERS = 500
EXCLUDED = [
    # They never end, which is their purpose; the tests of streams read them.
    '--exclude-path', '/api/events', '--exclude-path', '/api/sessions/{session}/log',
]


def main():
    with World('described', sys.argv[1], browser=None) as world:
        with urllib.request.urlopen(f'{world.url}/api') as answer:
            description = json.load(answer)
        validate(description)
        copy = world.home / 'openapi.json'
        copy.write_text(json.dumps(without_true(description)))
        configuration = world.home / 'schemathesis.toml'
        # Requests are about sessions that exist, except for those that delete them.
        configuration.write_text(''.join(
            f'[[operations]]\ninclude-method = "{method}"\nparameters = {{ "path.session" = "{session}" }}\n'
            for method, session in (('GET', conversation(world)), ('POST', another(world)))))
        program = Path(sys.executable).with_name('schemathesis')
        command = [
            program, '--config-file', configuration, 'run', copy, '--url', world.url,
            '--header', f'Authorization: Bearer {world.tokens["all"]}', '--checks', CHECKS, '--phases', 'examples,coverage,fuzzing',
            '--max-examples', EXAMPLES, '--generation-deterministic', '--no-shrink', '--continue-on-failure',
            '--suppress-health-check', 'all', '--warnings', 'off', '--request-timeout', '20', *EXCLUDED, *sys.argv[2:]]
        ended = subprocess.run(command, cwd=world.home, check=False)
    if ended.returncode:
        sys.exit('the service does not do what its description says')


def without_true(value, holds_schemas=False):
    """The same description: schemathesis cannot read every place where a schema is `true`, which is the same as `{}`."""
    if isinstance(value, list):
        return [without_true(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        name: {} if part is True and (holds_schemas or name in ('schema', 'items'))
        else without_true(part, name in ('properties', 'schemas', '$defs'))
        for name, part in value.items()}


def conversation(world):
    """A session with an answer, calls and a question."""
    world.model.reply('I look.', call('read_file', path='src/main.rs'), call('write_file', path='README.md', content='x\n'))
    session = world.api('/sessions', {})['id']
    world.api(f'/sessions/{session}/messages', {'text': 'Look'})
    world.wait_for_question(session)
    return session


def another(world):
    """A session that is idle, and a model that has an answer for whatever is said in it."""
    for _ in range(ANSWERS):
        world.model.reply('Done.')
    session = world.api('/sessions', {})['id']
    world.api(f'/sessions/{session}/messages', {'text': 'Begin'})
    world.wait_for_state(session, 'idle')
    return session


if __name__ == '__main__':
    main()
