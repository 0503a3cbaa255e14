/** Bodies of class GPIO (docs/cbp.md section 12), as an endpoint reads them. */
export const OP = { read: 0x01, write: 0x02, configure: 0x03 } as const;
export const EDGE_EVENT = 0x80;
/** `safe` of a line that is left as it is. */
export const KEEP = 0xff;

export interface LineSettings {
  readonly line: number;
  /** 0 in, 1 out, 2 open drain */
  readonly direction: number;
  /** 0 none, 1 up, 2 down */
  readonly pull: number;
  /** 0 none, 1 rising, 2 falling, 3 both */
  readonly edge: number;
  readonly debounceUs: number;
  readonly initial: 0 | 1;
  /** Level when the plugin stops: 0, 1 or KEEP. */
  readonly safe: number;
}

/** Undefined for a body of the wrong form. */
export function settingsIn(body: Buffer): LineSettings | undefined {
  const [line = 0, direction = 0, pull = 0, edge = 0, , , initial = 0, safe = 0] = body;
  if (body.length !== 8 || line > 31 || direction > 2 || pull > 2 || edge > 3 || initial > 1) return undefined;
  if (safe > 1 && safe !== KEEP) return undefined;
  return { line, direction, pull, edge, debounceUs: body.readUInt16LE(4), initial: initial as 0 | 1, safe };
}

/** Lines of a mask. */
export function linesIn(mask: number): readonly number[] {
  return Array.from({ length: 32 }, (_, line) => line).filter((line) => (mask >>> line) & 1);
}
