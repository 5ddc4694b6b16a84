"""As client.mjs, with the official client for Python."""
import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import PaginatedRequestParams

HOW, WHERE, *ARGS = sys.argv[1:]
HANDLE = os.environ["HANDLE"]


@asynccontextmanager
async def connect():
    if HOW == "stdio":
        async with stdio_client(StdioServerParameters(command=WHERE, args=ARGS)) as (read, write):
            yield read, write
    else:
        headers = {"Authorization": f"Bearer {ARGS[0]}"} if ARGS else {}
        async with httpx2.AsyncClient(headers=headers) as http, streamable_http_client(
                WHERE, http_client=http) as (read, write, *_):
            yield read, write


async def fault(call):
    try:
        return "tool" if getattr(await call, "is_error", False) else "none"
    except MCPError as e:
        return e.error.code


async def main():
    async with connect() as (read, write), ClientSession(read, write) as session:
        server = (await session.initialize()).server_info
        resources, cursor = [], None
        while True:
            page = await session.list_resources(params=PaginatedRequestParams(cursor=cursor))
            resources += [str(r.uri) for r in page.resources]
            cursor = page.next_cursor
            if not cursor:
                break

        async def text(**arguments):
            return (await session.call_tool("recall", arguments)).content[0].text

        seen = {
            "server": {"name": server.name},
            "tools": [{"name": t.name} for t in (await session.list_tools()).tools],
            "whole": await text(handle=HANDLE),
            "lines": await text(handle=HANDLE, lines="2-3"),
            "grep": await text(handle=HANDLE, grep="^.{5}"),
            "resources": resources,
            "read": (await session.read_resource(f"paucis:///{HANDLE}")).contents[0].text,
            "faults": [
                await fault(session.call_tool("recall", {"handle": "0" * 16})),
                await fault(session.call_tool("recall", {"handle": HANDLE, "lines": "zero"})),
                await fault(session.call_tool("recall", {})),
                await fault(session.call_tool("other", {})),
                await fault(session.read_resource("paucis:///" + "0" * 16)),
            ],
        }
        await session.send_ping()
        print(json.dumps(seen))


asyncio.run(main())
