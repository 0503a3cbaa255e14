"""Reads a SPI NOR flash: its identification over REST, its contents over JSON-RPC. Other apps and voice reach both as functions."""

import base64
import sys

from device import DeviceError, Rest, Rpc

APP = "com.example.flash-reader"
HANDLE = "flash"
READ_JEDEC_ID, READ = 0x9F, 0x03
PAGE = 256

SPECIFICATION = {
    "app": APP,
    "functions": [
        {
            "name": "flash.id",
            "version": "1.0.0",
            "description": "JEDEC identification of the flash chip, three bytes in hexadecimal.",
            "returns": {"jedec": "string"},
            "permissions": ["bridges.spi:flash"],
            "idempotent": True,
        },
        {
            "name": "flash.read",
            "version": "1.0.0",
            "description": "Bytes of the flash chip.",
            "inputs": {"offset": "int", "length": "int?"},
            "returns": {"data": "bytes"},
            "permissions": ["bridges.spi:flash"],
            "timeout_ms": 2000,
            "idempotent": True,
        },
    ],
}


def main():
    rest = Rest()

    def identify():
        # Full duplex: the byte that comes back while the command goes out means nothing.
        tx = base64.b64encode(bytes([READ_JEDEC_ID])).decode()
        answer = rest.request("POST", "/SPI_transfer_txrx", {"handle": HANDLE, "tx": tx, "rxLen": 4})
        return {"jedec": base64.b64decode(answer["rx"])[1:].hex()}

    def read(offset, length=16):
        if not 0 <= offset < 1 << 24 or not 1 <= length <= PAGE:
            raise ValueError(f"offset must fit 24 bits, and length is 1 to {PAGE}")
        command = bytes([READ, *offset.to_bytes(3, "big")])
        answer = rpc.call("spi.transfer", handle=HANDLE, tx=base64.b64encode(command).decode(), rxLen=len(command) + length)
        return {"data": base64.b64encode(base64.b64decode(answer["rx"])[len(command) :]).decode()}

    path = rest.request("GET", "/getDeviceSocketPath")["socket"]
    try:
        rest.request("POST", "/FunctionRegistry-registerFunction", SPECIFICATION)
    except DeviceError as error:
        # Without the grant of the SKU the functions are refused; the app says so and waits for better days.
        print(f"functions are not registered: {error}", file=sys.stderr)
    rpc = Rpc({"flash.id": identify, "flash.read": read})
    ready = rpc.connect(path)
    print(f"session {ready['session']}, capabilities {', '.join(ready['capabilities']) or 'none'}")
    try:
        rpc.call("log.write", level="info", message="flash chip", fields=identify())
        rpc.call("health.report", status="okay")
    except DeviceError as error:
        rpc.call("health.report", status="error", message=str(error)[:500])
    rpc.over.wait()


main()
