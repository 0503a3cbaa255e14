from device_app import connect_app
from greeting import greet

app = connect_app()

# A setting: the value that holds now, and every change of it.
settings = {"greeting": app.config.get("greeting")}
app.config.on_change(lambda change: settings.update({change["key"]: change["value"]}))


# The function of app.yaml, which says what goes in and what comes out.
@app.function("appId.greet")
def greet_somebody(inputs):
    text = greet(settings["greeting"], inputs["name"])
    app.events.publish("app.com.example.app-id.event.greeted", {"name": inputs["name"]})
    return {"text": text, "say": text}


print("ready")
print("stopped:", app.stopped())
