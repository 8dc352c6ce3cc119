"""A model behind a server with the interface of OpenAI. The only module that knows the `openai` package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import openai

from mdmem.llm.endpoints import ModelAnswer, ModelServer
from mdmem.llm.failures import DOWN, REFUSED, ModelFailure
from mdmem.llm.requests import ModelRequest

_RETRIES = 3
"""After a time-out, 429 or 5xx; the package waits as long as the server says, and else longer each time."""
_NO_KEY = "none"
_NO_ANSWER = "the server's answer is not in the format of OpenAI"
_NOT_ACCEPTED = (400, 404, 415, 422, 501)
"""The answers of servers that do not know a form of answer."""


class ServerModel:
    """A model of a server. It remembers which form of answer the server accepts."""

    def __init__(self, server: ModelServer) -> None:
        self._name = server.name
        # What the package would take from the environment is another account's: none of it is sent.
        absent: Any = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        self._client = openai.OpenAI(
            base_url=server.url,
            api_key=server.key or _NO_KEY,
            organization="",
            project="",
            max_retries=_RETRIES,
            timeout=server.seconds,
            default_headers=absent,
        )
        self._formats = ["json_schema", "json_object", ""]
        """The forms that the server may accept, the best first; the last is none."""
        self._limit_name = "max_tokens"

    def answer(self, request: ModelRequest, most_tokens: int) -> ModelAnswer:
        """Send a request and wait for its answer, of so many tokens at most.

        Raises:
            ModelFailure: there is none.
        """
        while True:
            try:
                return self._answer_of(self._send(request, most_tokens))
            except openai.APIStatusError as problem:
                if not self._has_other_form(problem):
                    raise _failure(problem) from problem
            except openai.OpenAIError as problem:
                raise ModelFailure(DOWN, f"the server: {problem}") from problem
            except ValueError as problem:  # what calls itself JSON and is none
                raise ModelFailure(DOWN, _NO_ANSWER) from problem

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _send(self, request: ModelRequest, most_tokens: int) -> Any:
        options: dict[str, Any] = {self._limit_name: most_tokens}
        if self._formats[0]:
            options["response_format"] = _response_format(self._formats[0], request)
        return self._client.chat.completions.create(
            model=self._name, messages=[{"role": "user", "content": request.text}], stream=False, **options
        )

    def _has_other_form(self, problem: openai.APIStatusError) -> bool:
        """Go on with another form of request; False where there is none left to try."""
        if problem.status_code not in _NOT_ACCEPTED:
            return False
        if problem.status_code == 400 and "max_completion_tokens" in str(problem) and self._limit_name == "max_tokens":
            self._limit_name = "max_completion_tokens"
            return True
        if not self._formats[0]:
            return False
        del self._formats[0]
        return True

    def _answer_of(self, completion: Any) -> ModelAnswer:
        try:
            choice, usage = completion.choices[0], completion.usage
            text = choice.message.content or ""
        except (AttributeError, IndexError, TypeError) as problem:
            raise ModelFailure(DOWN, _NO_ANSWER) from problem
        return ModelAnswer(
            text=text if isinstance(text, str) else "",
            tokens_in=_count(usage, "prompt_tokens"),
            tokens_out=_count(usage, "completion_tokens"),
        )


def _count(usage: Any, name: str) -> int | None:
    """A number of tokens as the server counts them; None where it does not."""
    count = getattr(usage, name, None)
    return count if isinstance(count, int) and count >= 0 else None


def _response_format(name: str, request: ModelRequest) -> Mapping[str, Any]:
    if name != "json_schema":
        return {"type": name}
    schema = {"name": f"mdmem_{request.task}", "strict": True, "schema": json.loads(request.schema)}
    return {"type": name, "json_schema": schema}


def _failure(problem: openai.APIStatusError) -> ModelFailure:
    is_passing = problem.status_code in (408, 409, 429) or problem.status_code >= 500
    return ModelFailure(DOWN if is_passing else REFUSED, f"the server answered {problem.status_code}")
