"""
A FastAPI service that takes URLs and says what became of each.

    uvicorn examples.fastapi_producer:app

Run as a program, it sends itself one request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel, Field

from aragog.client import Aragog
from aragog.errors import BrokerUnavailable, SlowDown


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client for the process; it may be shared by threads."""
    with Aragog() as app.state.aragog:
        yield


app = FastAPI(lifespan=lifespan)


class Links(BaseModel):
    """URLs to fetch, in any spelling."""

    urls: list[str] = Field(max_length=1000)


@app.post("/links", status_code=202)
def submit(links: Links, request: Request) -> list[dict[str, str | None]]:
    """Enqueue; FastAPI runs a plain function in a thread, so it may wait for Redis."""
    try:
        results = request.app.state.aragog.enqueue(links.urls, priority=2)
    except SlowDown as error:
        headers = {"Retry-After": str(round(error.retry_after_s))}
        raise HTTPException(503, str(error), headers=headers) from error
    except BrokerUnavailable as error:
        raise HTTPException(503, "the crawler does not answer") from error
    return [
        {"input": result.input, "status": result.status.value, "reason": result.reason}
        for result in results
    ]


if __name__ == "__main__":
    from fastapi.testclient import TestClient

    with TestClient(app) as client:
        answer = client.post("/links", json={"urls": ["http://shop.example/p/2", "no url"]})
        print(answer.status_code)
        for line in answer.json():
            print(line["status"], line["input"])
