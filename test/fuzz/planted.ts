/** Parsers with faults: the lane must find each. */
import { CoreError } from '@device-core/plugin-api';
import { type Target, WrongAcceptance } from './target.ts';

const refused = (): CoreError => new CoreError('PARAMS_INVALID', { where: 'bytes', reason: 'they are changed' });
const SEED = Buffer.from('valid');

/** The first call is that with the seed. */
const planted = (name: string, fault: (bytes: Buffer) => boolean | Promise<boolean>, seedIsGood = true): Target => ({
  name,
  form: 'bytes',
  async open() {
    let calls = 0;
    return {
      seeds: [SEED],
      run(bytes) {
        calls += 1;
        return (calls === 1 && seedIsGood) || fault(bytes);
      },
    };
  },
});

function spin(ms: number): void {
  const spent = () => process.cpuUsage().user + process.cpuUsage().system;
  for (const end = spent() + ms * 1_000; spent() < end; );
}

export const TARGETS: readonly Target[] = [
  planted('good', () => {
    throw refused();
  }),
  planted('foreign', () => {
    throw new TypeError('cannot read properties of undefined');
  }),
  planted('internal', () => {
    throw new CoreError('INTERNAL', { what: 'a parser' });
  }),
  planted('taken', () => {
    throw new WrongAcceptance('another content is taken');
  }),
  planted('crash', () => {
    process.kill(process.pid, 'SIGSEGV');
    return false;
  }),
  planted('hang', () => {
    for (;;) spin(1_000);
  }),
  planted('slow', () => {
    spin(1_100);
    return false;
  }),
  planted('large', () => Buffer.alloc(300 << 20, 1).length === 0),
  planted('bad-seed', () => false, false),
];
