/** How often the chip is asked whether it is ready, on the virtual clock: each ask is a request over the link. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { I2c, I2cSegment } from '@device-core/plugin-api/services/i2c';
import { VirtualClock } from '@device-core/plugin-api/testing';
import { Pn532 } from '../../../plugins/hardware/pn532/chip.ts';

const ACK = [0x00, 0x00, 0xff, 0x00, 0xff, 0x00];
const TRANSFER_MS = 0.5;
const READY_MS = { ack: 1, answer: 12 };

/** What the chip says to a command, from its ready byte on. */
function answerTo(command: number): number[] {
  const data = [0xd5, command + 1, ...(command === 0x02 ? [0x32, 1, 6, 7] : command === 0x4a ? [0] : [])];
  const sum = data.reduce((all, byte) => all + byte, 0);
  return [1, 0x00, 0x00, 0xff, data.length, -data.length & 0xff, ...data, -sum & 0xff, 0x00];
}

it('a reader that takes as long as ever is seldom asked too early', async () => {
  const clock = new VirtualClock({ turns: 1 });
  let [asks, command, began, acked] = [0, 0, 0, false];
  const transfer = async (_handle: string, [segment]: readonly I2cSegment[]) => {
    await clock.sleep(TRANSFER_MS);
    if (segment && 'write' in segment) {
      [command, began, acked] = [segment.write![6]!, clock.monotonic(), false];
      return new Uint8Array(0);
    }
    asks++;
    if (clock.monotonic() < began + (acked ? READY_MS.answer : READY_MS.ack)) return new Uint8Array(64);
    const bytes = acked ? answerTo(command) : [1, ...ACK];
    acked = true;
    return Uint8Array.from(bytes);
  };
  const chip = new Pn532({ transfer } as unknown as I2c, 'reader', clock);
  const look = async () => {
    let over = false;
    const found = chip.find({}).finally(() => {
      over = true;
    });
    while (!over) await clock.advance(1);
    assert.equal(await found, undefined);
  };
  for (let index = 0; index < 10; index++) await look();
  asks = 0;
  const looks = 100;
  for (let index = 0; index < looks; index++) await look();
  assert.ok(asks >= 2 * looks && asks <= 2.2 * looks, `${asks} asks for ${looks} looks`);
});
