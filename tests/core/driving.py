"""Small ways to make something happen on a timeline."""


def run(kernel, work):
    return kernel.run_until(kernel.start(work, name="main"))


def at(kernel, instant, action):
    """Do something at an instant, before the activities that were started later."""

    async def later():
        await kernel.sleep_until(instant)
        action()

    return kernel.start(later(), name="later")
