/** Bytes of the structures of i2c-dev, as the headers of the kernel have them on 64 and on 32 bits. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { I2C, rdwrRequest, smbusRequest, transferIn } from '../../../plugins/hardware/host-i2c/structs.ts';
import { buildFolder, noCompiler } from '../../fixtures/responder.ts';

const AT = 0x1000;
const transfer = transferIn(Buffer.from('76000200' + '02000380' + 'f488', 'hex'))!;
const RDWR = {
  8: [
    '1010000000000000', // msgs
    '0200000000000000', // nmsgs
    '7600000002000000' + '3010000000000000', // address, flags, length, bytes
    '7600010003000000' + '3210000000000000',
    'f488' + '000000',
  ].join(''),
  4: ['08100000', '02000000', '7600000002000000' + '20100000', '7600010003000000' + '22100000', 'f488' + '000000'].join(
    '',
  ),
} as const;
const SMBUS = { 8: '01f400000800000010100000' + '00000000' + '03', 4: '01f40000080000000c100000' + '03' } as const;

describe('structures of i2c-dev', () => {
  for (const pointerBytes of [8, 4] as const) {
    it(`has the messages of a transfer, with pointers of ${pointerBytes} bytes`, () => {
      const { argument, answer } = rdwrRequest(transfer, pointerBytes, () => BigInt(AT));
      assert.equal(argument.toString('hex'), RDWR[pointerBytes]);
      argument.set([7, 8, 9], argument.length - 3);
      assert.deepEqual([...answer()], [7, 8, 9]);
    });

    it(`has a block of SMBus, with pointers of ${pointerBytes} bytes`, () => {
      const read = transferIn(Buffer.from('76000200' + '01000380' + 'f4', 'hex'))!;
      const { argument } = smbusRequest(read, pointerBytes, () => BigInt(AT))!;
      assert.equal(argument.toString('hex').replace(/(00)+$/, ''), SMBUS[pointerBytes]);
    });
  }

  it('agrees with the headers of this machine', { skip: noCompiler }, () => {
    const folder = buildFolder();
    const source = join(folder, 'golden.c');
    writeFileSync(
      source,
      `#include <stddef.h>
#include <stdio.h>
#include <linux/i2c.h>
#include <linux/i2c-dev.h>
int main(void) {
  printf("%d %d %d %d %d\\n", I2C_TIMEOUT, I2C_SLAVE, I2C_FUNCS, I2C_RDWR, I2C_SMBUS);
  printf("%zu %zu %zu\\n", sizeof(struct i2c_msg), sizeof(struct i2c_rdwr_ioctl_data), sizeof(struct i2c_smbus_ioctl_data));
  printf("%zu %zu %zu\\n", offsetof(struct i2c_msg, buf), offsetof(struct i2c_rdwr_ioctl_data, nmsgs), offsetof(struct i2c_smbus_ioctl_data, data));
  return 0;
}
`,
    );
    execFileSync('cc', ['-o', join(folder, 'golden'), source]);
    const [numbers, sizes, offsets] = execFileSync(join(folder, 'golden'), { encoding: 'utf8' }).trim().split('\n');
    assert.equal(numbers, [I2C.timeout, I2C.slave, I2C.funcs, I2C.rdwr, I2C.smbus].join(' '));
    assert.deepEqual([sizes, offsets], ['16 16 16', '8 8 8']);
  });
});
