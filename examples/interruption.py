"""A thought is interrupted by a message, answers it, and goes on from the same token."""

from timeful import Kernel, Pace, Prompt, ScriptedModel, milliseconds, seconds

model = ScriptedModel(
    ["The report says that sales rose by a third", "Noted, thank you"],
    pace=Pace(first=seconds(1), per_token=milliseconds(500)),
)
kernel = Kernel()


def ask(text: str):
    source = model.open(Prompt(render=lambda: text), max_tokens=None, seed=0)
    return kernel.stream(source, pacing=model.pace, name=text)


def say(text: str) -> None:
    print(f"{kernel.now / 1e9:5.1f} s  {text}")


async def work() -> None:
    report = ask("write the report")
    await kernel.wait_any(report, deadline=seconds(3))
    report.pause("a message has come")
    say(f"interrupted after {report.text()!r}")
    reply = await ask("answer the message")
    say(f"replied {reply.text()!r}")
    report.resume()
    await report
    say(f"finished {report.text()!r}")


kernel.start(work())
kernel.run()

# It prints:
# >   3.0 s  interrupted after 'The report says that '
# >   5.5 s  replied 'Noted, thank you'
# >   8.0 s  finished 'The report says that sales rose by a third'
