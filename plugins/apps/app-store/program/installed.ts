import { cell, defineProgram } from '@device-core/plugin-api/program';

interface Listing {
  readonly apps: readonly {
    readonly id: string;
    readonly version: string;
    readonly enabled: boolean;
    readonly uid?: number;
    readonly former?: { readonly version: string };
  }[];
  readonly rolledBack: readonly { readonly id: string; readonly version: string; readonly reason: string }[];
  readonly retained: readonly { readonly id: string; readonly version: string; readonly bytes: number }[];
}

/** `devicectl app installed` */
export const program = defineProgram({
  async run({ client, out }) {
    const answer = await client.get('/apps/installed');
    if (out.json) return out.line(answer.text);
    const { apps, rolledBack, retained } = answer.body as unknown as Listing;
    const failed = new Map(rolledBack.map((one) => [one.id, `${one.version} was rolled back: ${cell(one.reason)}`]));
    const rows = apps.map(({ id, version, former, uid, enabled }) => {
      const remarks = [...(enabled ? [] : ['switched off']), ...(failed.has(id) ? [failed.get(id)] : [])];
      failed.delete(id);
      return [id, version, former?.version ?? '', uid ?? '', remarks.join('; ')];
    });
    for (const [id, remark] of failed) rows.push([id, '', '', '', remark]);
    for (const { id, version, bytes } of retained)
      rows.push([id, '', version, '', `removed; ${Math.ceil(bytes / 1024)} KiB of data are kept`]);
    await out.table(['APP', 'VERSION', 'BEFORE', 'USER', 'REMARK'], rows, {
      empty: 'nothing was installed; add an app with: devicectl app install <file>',
    });
  },
});
