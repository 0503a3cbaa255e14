def greet(greeting, name):
    """Greeting for a name. Pure: it is tested without a device."""
    return f"{greeting}, {name}!"
