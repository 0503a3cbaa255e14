def greet(greeting, name):
    """What is said to somebody. Pure: it is tested without a device."""
    return f"{greeting}, {name}!"
