"""In a sandbox without a network: relay a port of its loopback to a socket, and run a command.

Started with the path of the socket, the port and the command; it needs Python alone.
"""

import asyncio
import sys

_PIECE = 1 << 16


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass  # one end has gone, and so the other goes
    writer.close()


async def _run(path: str, port: str, command: list[str]) -> int:
    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        outer_reader, outer_writer = await asyncio.open_unix_connection(path)
        await asyncio.gather(_pump(reader, outer_writer), _pump(outer_reader, writer))

    await asyncio.start_server(relay, "127.0.0.1", int(port))
    process = await asyncio.create_subprocess_exec(*command)
    code = await process.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(asyncio.run(_run(sys.argv[1], sys.argv[2], sys.argv[3:])))
