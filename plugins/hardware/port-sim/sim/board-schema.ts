/** The form of a board file. Ajv fills in the defaults; docs of the members are the descriptions here. */

const byte = { type: 'integer', minimum: 0, maximum: 255 } as const;
const share = { type: 'number', minimum: 0, maximum: 1, default: 0 } as const;
const line = { type: 'integer', minimum: 0, maximum: 31 } as const;
const level = { type: 'integer', enum: [0, 1] } as const;
const label = { type: 'string', pattern: '^[a-z][a-z0-9-]{0,31}$' } as const;
const ms = (fallback: number) => ({ type: 'number', minimum: 0, default: fallback });

const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
});

const common = (rxWindow: number, maxInflight: number) => ({
  label,
  rxWindow: { description: 'bytes of its ring', type: 'integer', minimum: 64, maximum: 65_535, default: rxWindow },
  maxInflight: { type: 'integer', minimum: 1, maximum: 255, default: maxInflight },
  slowMs: { description: 'fault: each operation starts this much later', ...ms(0) },
});

const gpio = object(
  {
    class: { const: 'gpio' },
    ...common(256, 4),
    lines: { type: 'integer', minimum: 1, maximum: 32, default: 32 },
    wires: {
      description: 'pairs of lines that are connected',
      type: 'array',
      default: [],
      items: { type: 'array', items: line, minItems: 2, maxItems: 2 },
    },
    script: {
      description: 'levels driven from outside, milliseconds after the start',
      type: 'array',
      default: [],
      items: object({ atMs: ms(0), line, level: { oneOf: [level, { type: 'null' }] } }, ['line', 'level']),
    },
  },
  ['class', 'label'],
);

const flash = object(
  {
    cs: byte,
    kind: { const: 'flash' },
    jedec: { type: 'array', items: byte, minItems: 3, maxItems: 3, default: [0xef, 0x40, 0x14] },
    sizeKiB: { type: 'integer', minimum: 64, maximum: 16_384, default: 1024 },
    programMs: ms(0.7),
    sectorMs: ms(45),
    blockMs: ms(150),
    chipMs: ms(2000),
    file: { description: 'contents kept in the state folder', type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' },
    contents: {
      type: 'array',
      default: [],
      items: object({ at: { type: 'integer', minimum: 0 }, text: { type: 'string' } }, ['at', 'text']),
    },
  },
  ['cs', 'kind'],
);

const wire = object({ cs: byte, kind: { enum: ['loopback', 'echo'] } }, ['cs', 'kind']);

const spix = object(
  {
    class: { const: 'spix' },
    ...common(1024, 4),
    maxSpeedHz: { type: 'integer', minimum: 1, default: 8_000_000 },
    maxTransfer: { type: 'integer', minimum: 1, default: 65_536 },
    atomicBytes: { type: 'integer', minimum: 0, default: 4096 },
    chipSelects: { type: 'integer', minimum: 1, maximum: 16, default: 1 },
    targets: {
      type: 'array',
      default: [],
      items: {
        type: 'object',
        discriminator: { propertyName: 'kind' },
        required: ['kind'],
        oneOf: [flash, wire],
      },
    },
  },
  ['class', 'label'],
);

const bytes = (most: number) => ({ type: 'array', items: byte, maxItems: most });
const at = { atMs: ms(0), everyMs: { description: 'again and again; 0 = once', ...ms(0) } };
const script = (properties: object, required: readonly string[]) => ({
  type: 'array',
  default: [],
  items: object({ ...at, ...properties }, required),
});
const address = { type: 'integer', minimum: 0, maximum: 1023 } as const;
const eventQueue = {
  description: 'bytes of its event queue',
  type: 'integer',
  minimum: 64,
  maximum: 65_535,
  default: 1024,
};
const canId = {
  description: 'b31 extended, b30 RTR, b29 FD',
  type: 'integer',
  minimum: 0,
  maximum: 0xffff_ffff,
} as const;

const i2c = object(
  {
    class: { const: 'i2c' },
    ...common(512, 4),
    maxSpeedHz: { type: 'integer', minimum: 1, default: 400_000 },
    maxTransfer: { type: 'integer', minimum: 1, maximum: 32_767, default: 4096 },
    targets: {
      type: 'array',
      default: [],
      items: {
        type: 'object',
        required: ['kind', 'address'],
        properties: {
          kind: { type: 'string' },
          address,
          interrupt: object({ endpoint: label, line }, ['endpoint', 'line']),
        },
      },
    },
    script: script({ address, change: { type: 'object' } }, ['address', 'change']),
  },
  ['class', 'label'],
);

const uart = object(
  {
    class: { const: 'uart' },
    ...common(512, 4),
    maxBaud: { type: 'integer', minimum: 1, default: 3_000_000 },
    maxTransfer: { type: 'integer', minimum: 1, maximum: 65_536, default: 4096 },
    baud: { description: 'until it is configured', type: 'integer', minimum: 1, default: 115_200 },
    loopback: { type: 'boolean', default: false },
    eventQueue,
    script: script({ text: { type: 'string' } }, ['text']),
  },
  ['class', 'label'],
);

const can = object(
  {
    class: { const: 'can' },
    ...common(512, 4),
    maxNominal: { type: 'integer', minimum: 1, default: 1_000_000 },
    maxData: { description: '0: classic CAN alone', type: 'integer', minimum: 0, default: 8_000_000 },
    eventQueue,
    answers: {
      description: 'another node answers frames',
      type: 'array',
      default: [],
      items: object({ id: canId, answer: canId, data: bytes(8) }, ['id', 'answer', 'data']),
    },
    script: script({ id: canId, data: bytes(8) }, ['id', 'data']),
  },
  ['class', 'label'],
);

const pio = object(
  {
    class: { const: 'pio' },
    ...common(512, 4),
    gpio: { description: 'the GPIO endpoint whose lines it drives', ...label },
  },
  ['class', 'label', 'gpio'],
);

export const FAULTS_SCHEMA = object({
  seed: { type: 'integer', default: 1 },
  bitErrorRate: share,
  zeroed: { description: 'share of transactions in which the bridge is not armed', ...share },
  stale: { description: 'share in which one side gets the packet before once more', ...share },
  slipped: { description: 'share in which one side is shifted by some bits', ...share },
  truncated: { description: 'share in which CS is released early', ...share },
});

export const LINK_SCHEMA = object({
  transactionBytes: { enum: [64, 128, 256, 512, 1024], default: 256 },
  window: { type: 'integer', minimum: 1, maximum: 32, default: 8 },
  gapUs: { type: 'integer', minimum: 0, maximum: 10_000, default: 40 },
  khz: { type: 'integer', minimum: 1, maximum: 65_535, default: 8000 },
  watchdogMs: { type: 'integer', minimum: 0, maximum: 65_535, default: 3000 },
  firmware: { type: 'array', items: byte, minItems: 3, maxItems: 3, default: [1, 0, 0] },
  major: { description: 'protocol version it claims', ...byte, default: 1 },
});

export const BOARD_SCHEMA = object(
  {
    board: { type: 'string' },
    link: { ...LINK_SCHEMA, default: {} },
    faults: { ...FAULTS_SCHEMA, default: {} },
    endpoints: {
      type: 'array',
      minItems: 1,
      maxItems: 63,
      items: {
        type: 'object',
        discriminator: { propertyName: 'class' },
        required: ['class'],
        oneOf: [gpio, spix, i2c, uart, can, pio],
      },
    },
  },
  ['board', 'endpoints'],
);
