/**
 * A receiver of OTLP's JSON form that is stricter than those of the world: it knows the messages as opentelemetry-proto 1.x publishes them and
 * refuses each other member, a wide number that is none, two values where there is one, and what the comments there forbid. It knows nothing of ours.
 * Source: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
import assert from 'node:assert/strict';

type Check = (value: unknown, where: string) => void;
interface Message {
  readonly members: Readonly<Record<string, Check>>;
  /** Exactly one of them. */
  readonly oneOf?: readonly string[];
  /** These are there. */
  readonly needs?: readonly string[];
  readonly rule?: (it: Members, where: string) => void;
}
type Members = Readonly<Record<string, unknown>>;

const text: Check = (value, where) => {
  assert.equal(typeof value, 'string', where);
  assert.ok((value as string).isWellFormed(), `${where} is UTF-8`);
};
const name: Check = (value, where) => {
  text(value, where);
  assert.notEqual(value, '', where);
};
const flag: Check = (value, where) => assert.equal(typeof value, 'boolean', where);
const real: Check = (value, where) => assert.ok(Number.isFinite(value), where);
const within =
  (least: bigint, most: bigint): Check =>
  (value, where) => {
    assert.equal(typeof value, 'string', `${where}: a number of 64 bits is a string`);
    assert.match(value as string, /^(0|-?[1-9]\d*)$/, where);
    assert.ok(BigInt(value as string) >= least && BigInt(value as string) <= most, where);
  };
const unsigned = within(0n, (1n << 64n) - 1n);
const signed = within(-(1n << 63n), (1n << 63n) - 1n);
const small: Check = (value, where) => assert.ok(Number.isInteger(value) && Number(value) >= 0, where);
const oneOf =
  (...numbers: readonly number[]): Check =>
  (value, where) =>
    assert.ok(numbers.includes(value as number), `${where}: an enumeration is a number of it`);
const id =
  (bytes: number): Check =>
  (value, where) => {
    assert.match(String(value), new RegExp(`^[0-9a-fA-F]{${2 * bytes}}$`), where);
    assert.doesNotMatch(String(value), /^0+$/, where);
  };
const many =
  (one: Check): Check =>
  (value, where) => {
    assert.ok(Array.isArray(value), where);
    for (const [at, each] of value.entries()) one(each, `${where}[${at}]`);
  };
const message =
  (make: () => Message): Check =>
  (value, where) => {
    const { members, oneOf: choice = [], needs = [], rule } = make();
    assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), where);
    for (const [member, its] of Object.entries(value)) {
      assert.ok(Object.hasOwn(members, member), `${where} has no member ${member}`);
      members[member]!(its, `${where}.${member}`);
    }
    for (const member of needs) assert.ok(member in value, `${where} has a ${member}`);
    if (choice.length > 0) assert.equal(choice.filter((member) => member in value).length, 1, `${where}: one of them`);
    rule?.(value as Members, where);
  };

const anyValue: Check = message(() => ({
  members: {
    stringValue: text,
    boolValue: flag,
    intValue: signed,
    doubleValue: real,
    bytesValue: text,
    arrayValue: message(() => ({ members: { values: many(anyValue) } })),
    kvlistValue: message(() => ({ members: { values: attributes } })),
  },
  oneOf: ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'bytesValue', 'arrayValue', 'kvlistValue'],
}));
const attributes: Check = (value, where) => {
  many(message(() => ({ members: { key: name, value: anyValue }, needs: ['key', 'value'] })))(value, where);
  const keys = (value as readonly { readonly key: string }[]).map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length, `${where}: a key twice`);
};
const resource = message(() => ({ members: { attributes, droppedAttributesCount: small } }));
const scope = message(() => ({ members: { name, version: text, attributes, droppedAttributesCount: small } }));

const times = { startTimeUnixNano: unsigned, timeUnixNano: unsigned };
const inOrder = ({ startTimeUnixNano: from = '0', timeUnixNano: to }: Members, where: string) =>
  assert.ok(BigInt(String(from)) <= BigInt(String(to)), `${where}: it ends before it starts`);
const number = message(() => ({
  members: { attributes, ...times, asInt: signed, asDouble: real, flags: small },
  oneOf: ['asInt', 'asDouble'],
  needs: ['timeUnixNano'],
  rule: inOrder,
}));
const distribution = message(() => ({
  members: {
    attributes,
    ...times,
    count: unsigned,
    sum: real,
    min: real,
    max: real,
    flags: small,
    bucketCounts: many(unsigned),
    explicitBounds: many(real),
  },
  needs: ['timeUnixNano', 'count', 'bucketCounts', 'explicitBounds'],
  rule: (it, where) => {
    inOrder(it, where);
    const [counts, bounds] = [it.bucketCounts as readonly string[], it.explicitBounds as readonly number[]];
    assert.equal(counts.length, bounds.length + 1, where);
    assert.ok(
      bounds.every((bound, at) => at === 0 || bound > bounds[at - 1]!),
      `${where}: bounds go up`,
    );
    const all = counts.reduce((sum, one) => sum + BigInt(one), 0n);
    assert.equal(all, BigInt(String(it.count)), `${where}: buckets are as many as it says`);
  },
}));
const temporality = oneOf(1, 2);
const metric = message(() => ({
  members: {
    name,
    description: text,
    unit: text,
    metadata: attributes,
    gauge: message(() => ({ members: { dataPoints: points(number) }, needs: ['dataPoints'] })),
    sum: message(() => ({
      members: { dataPoints: points(number), aggregationTemporality: temporality, isMonotonic: flag },
      needs: ['dataPoints', 'aggregationTemporality'],
    })),
    histogram: message(() => ({
      members: { dataPoints: points(distribution), aggregationTemporality: temporality },
      needs: ['dataPoints', 'aggregationTemporality'],
    })),
  },
  needs: ['name'],
  oneOf: ['gauge', 'sum', 'histogram'],
}));
/** The same attributes twice would be one series with two values. */
const points =
  (one: Check): Check =>
  (value, where) => {
    many(one)(value, where);
    const keys = (value as readonly Members[]).map((point) => JSON.stringify(sorted(point.attributes)));
    assert.equal(new Set(keys).size, keys.length, `${where}: a series twice`);
  };
const sorted = (all: unknown) =>
  ((all ?? []) as readonly { readonly key: string }[]).toSorted((a, b) => (a.key < b.key ? -1 : 1));

const record = message(() => ({
  members: {
    timeUnixNano: unsigned,
    observedTimeUnixNano: unsigned,
    severityText: text,
    body: anyValue,
    attributes,
    severityNumber: oneOf(...Array.from({ length: 24 }, (_, at) => at + 1)),
    droppedAttributesCount: small,
    flags: small,
    traceId: id(16),
    spanId: id(8),
    eventName: text,
  },
  rule: (it, where) => {
    if ('spanId' in it) assert.ok('traceId' in it, `${where}: a span is of a trace`);
  },
}));
const REQUESTS: Readonly<Record<string, Check>> = {
  resourceMetrics: many(
    message(() => ({
      members: {
        resource,
        schemaUrl: text,
        scopeMetrics: many(message(() => ({ members: { scope, metrics: many(metric), schemaUrl: text } }))),
      },
    })),
  ),
  resourceLogs: many(
    message(() => ({
      members: {
        resource,
        schemaUrl: text,
        scopeLogs: many(message(() => ({ members: { scope, logRecords: many(record), schemaUrl: text } }))),
      },
    })),
  ),
};

/** Throws where the body of a request, parsed, is none of metrics or of the log. */
export function checkOtlp(request: unknown): void {
  message(() => ({ members: REQUESTS, oneOf: Object.keys(REQUESTS) }))(request, 'request');
}
