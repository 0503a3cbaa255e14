/**
 * A page that a plugin brings as data. What it says is drawn as text; it asks by itself only what changes nothing, and
 * a click is the reader's.
 */
import { html } from 'htm/preact';
import { link, type PageProps } from '../../core/route.ts';
import { said } from '../../core/text.ts';
import { sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { LinkButton } from '../../parts/button.ts';
import { Answer, Empty, Head } from '../../parts/frame.ts';
import type { Operation } from './asking.ts';
import { Panel } from './panel.ts';
import type { PageOf } from './shapes.ts';
import { text } from './text.ts';

sheet('pages/extra/extra.css');

export function Page({ rest: [plugin, id] }: PageProps) {
  const pages = useAsk<{ readonly pages: readonly PageOf[] }>('/plugins/pages');
  const operations = useAsk<{ readonly operations: readonly Operation[] }>('/operations');
  useEvents(['plugin.state'], () => {
    pages.reload();
    operations.reload();
  });
  const draw = (data: NonNullable<typeof pages.data>) => {
    const page = data.pages.find((one) => one.plugin === plugin && one.id === id);
    if (page === undefined)
      return html`<${Head} title=${text('gone')} /><${Empty} title=${text('goneLead', { plugin: plugin ?? '' })} />`;
    const whose = html`${page.lead && html`${said(page.lead)} `}${text('of', { plugin: page.plugin })}`;
    const back = html`<${LinkButton} kind="quiet" icon="plugins" href=${link('plugins', [page.plugin])}>${page.plugin}<//>`;
    return html`<${Head} title=${said(page.title)} lead=${whose} actions=${back} /><div class="grid">${page.panels.map((panel, at) => html`<${Panel} key=${`${page.plugin} ${page.id} ${at}`} panel=${panel} plugin=${page.plugin} operations=${operations.data?.operations} />`)}</div>`;
  };
  return html`${pages.data === undefined && html`<${Head} title=${id ?? ''} />`}<${Answer} of=${pages}>${draw}<//>`;
}
