/** A code to scan, as the data of one path: a line for each run of dark modules, as thick as a module. */

export interface QrPath {
  readonly d: string;
  /** Modules on a side. */
  readonly size: number;
}

/** Bytes of a text whose code has few enough lines for one path. */
export const MOST_QR_TEXT = 120;

export async function qrPath(text: string): Promise<QrPath> {
  // Only who pairs needs it.
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'L', border: 0 });
  const along = runsOf(size, (line, at) => data[line]?.[at] === true);
  const across = runsOf(size, (line, at) => data[at]?.[line] === true);
  const d =
    along.length <= across.length
      ? along.map(({ line, from, to }) => `M${from} ${line + 0.5}H${to}`)
      : across.map(({ line, from, to }) => `M${line + 0.5} ${from}V${to}`);
  return { d: d.join(''), size };
}

function runsOf(size: number, dark: (line: number, at: number) => boolean) {
  const runs: { readonly line: number; readonly from: number; readonly to: number }[] = [];
  for (let line = 0; line < size; line += 1)
    for (let at = 0; at < size; at += 1) {
      const from = at;
      while (at < size && dark(line, at)) at += 1;
      if (at > from) runs.push({ line, from, to: at });
    }
  return runs;
}
