/** A code to scan, as the data of one path: each row of dark modules is as few rectangles as it has runs. */

export interface QrPath {
  readonly d: string;
  /** Modules on a side. */
  readonly size: number;
}

export async function qrPath(text: string): Promise<QrPath> {
  // Only who pairs needs it.
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'M', border: 0 });
  const runs: string[] = [];
  for (const [y, line] of data.entries())
    for (let x = 0; x < size; x += 1) {
      const from = x;
      while (x < size && line[x]) x += 1;
      if (x > from) runs.push(`M${from} ${y}h${x - from}v1H${from}z`);
    }
  return { d: runs.join(''), size };
}
