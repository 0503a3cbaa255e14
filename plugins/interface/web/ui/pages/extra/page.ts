/**
 * A page that a plugin brings as data, in its manifest or beside an operation. Its texts are drawn as text; it asks by
 * itself only what changes nothing, and a click is the reader's.
 */
import { html } from 'htm/preact';
import type { Operation } from '../../core/operation.ts';
import { link, type PageProps } from '../../core/route.ts';
import { said } from '../../core/text.ts';
import { sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { LinkButton } from '../../parts/button.ts';
import { Answer, Empty, Head } from '../../parts/frame.ts';
import { operations } from '../../parts/offered.ts';
import { Panel } from '../../view/panel.ts';
import type { PageOf } from '../../view/shapes.ts';
import { text } from '../../view/text.ts';
import { View } from '../../view/view.ts';

sheet('view/view.css');

export function Page({ rest: [plugin, id, ...path] }: PageProps) {
  const pages = useAsk<{ readonly pages: readonly PageOf[] }>('/plugins/pages');
  useEvents(['plugin.state'], pages.reload);
  const own = operations.value?.find((one) => one.plugin === plugin && one.name === id && one.page?.title);
  if (own !== undefined) return html`<${OfOperation} key=${own.name} operation=${own} path=${path} />`;
  const draw = (data: NonNullable<typeof pages.data>) => {
    const page = data.pages.find((one) => one.plugin === plugin && one.id === id);
    if (page === undefined)
      return html`<${Head} title=${text('gone')} /><${Empty} title=${text('goneLead', { plugin: plugin ?? '' })} />`;
    const whose = html`${page.lead && html`${said(page.lead)} `}${text('of', { plugin: page.plugin })}`;
    const back = html`<${LinkButton} kind="quiet" icon="plugins" href=${link('plugins', [page.plugin])}>${page.plugin}<//>`;
    return html`<${Head} title=${said(page.title)} lead=${whose} actions=${back} /><div class="grid">${page.panels.map((panel, at) => html`<${Panel} key=${`${page.plugin} ${page.id} ${at}`} panel=${panel} plugin=${page.plugin} operations=${operations.value} />`)}</div>`;
  };
  return html`${pages.data === undefined && html`<${Head} title=${id ?? ''} />`}<${Answer} of=${pages}>${draw}<//>`;
}

function OfOperation({ operation, path }: { operation: Operation; path: readonly string[] }) {
  const { name, plugin = '', page } = operation;
  const of = path.length > 0 && page!.detail !== undefined ? page!.detail : name;
  const lead = html`${page!.lead && html`${said(page!.lead)} `}${text('of', { plugin })}`;
  return html`<${View} key=${of} of=${of} base=${['extra', plugin, name]} path=${path} title=${said(page!.title!)} lead=${lead} plugin=${plugin} />`;
}
