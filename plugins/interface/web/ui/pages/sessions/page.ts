import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answers } from '../../core/answers.ts';
import { api } from '../../core/api.ts';
import { agoText, whenText } from '../../core/format.ts';
import { isOperator, session as mine } from '../../core/session.ts';
import { messageOf, sheet, useAsk, useVisible } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { TextField } from '../../parts/field.ts';
import { Answer, Badge, Card, Head } from '../../parts/frame.ts';
import { Table } from '../../parts/table.ts';
import { tell } from '../../parts/toast.ts';
import { Invite } from './invite.ts';
import { Stay } from './stay.ts';
import { words } from './text.ts';

sheet('pages/sessions/sessions.css');

type Session = Answers['sessions.list']['sessions'][number];

type Doing = { readonly what: 'rename' | 'end'; readonly of: Session };

/** This tab, or its browser. */
const isMine = ({ id }: Session): boolean => id === mine.value?.id || id === mine.value?.browser;

export function Page() {
  const list = useAsk<{ sessions: readonly Session[] }>('/sessions');
  const [doing, setDoing] = useState<Doing | undefined>(undefined);
  const visible = useVisible();
  // No event tells of sessions: they are of no use to apps. Who comes back to the tab sees them as they are.
  useEffect(() => {
    if (visible) list.reload();
  }, [visible]);
  const done = () => {
    setDoing(undefined);
    list.reload();
  };
  const actions = (of: Session) =>
    html`<span class="session-actions"><${Button} kind="quiet" writes label=${words('renameOf', { name: of.name })} onClick=${() => setDoing({ what: 'rename', of })}>${words('rename')}<//>${!isMine(of) && html`<${Button} kind="danger" writes label=${words('endOf', { name: of.name })} onClick=${() => setDoing({ what: 'end', of })}>${words('end')}<//>`}</span>`;
  const columns = [
    {
      title: words('name'),
      cell: (one: Session) => {
        const { kind, name } = one;
        return html`<span class="session-name">${name}${kind === 'browser' && html`<${Badge}>${words('stays')}<//>`}${isMine(one) && html`<${Badge} level="okay">${words(kind === 'browser' ? 'mineBrowser' : 'mine')}<//>`}</span>`;
      },
    },
    { title: words('role'), cell: ({ role }: Session) => words(role) },
    { title: words('since'), cell: ({ since }: Session) => whenText(since), by: ({ since }: Session) => since },
    {
      title: words('used'),
      cell: ({ lastUsed }: Session) => agoText(lastUsed),
      by: ({ lastUsed }: Session) => lastUsed,
    },
    { title: words('until'), cell: ({ until }: Session) => whenText(until), by: ({ until }: Session) => until },
    ...(isOperator() ? [{ title: words('actions'), cell: actions }] : []),
  ];
  return html`<${Head} title=${words('title')} lead=${words('lead')} actions=${html`<${Button} onClick=${list.reload}>${words('reload')}<//>`} /><${Card} title=${words('browsers')}><${Answer} of=${list}>${(data: NonNullable<typeof list.data>) => html`<${Table} label=${words('browsers')} columns=${columns} rows=${data.sessions} rowKey=${({ id }: Session) => id} />`}<//><//>${isOperator() && html`<${Stay} onDone=${list.reload} /><${Invite} />`}<${Card} title=${words('never')}><p>${words('neverList')}</p><//>${doing?.what === 'rename' && html`<${Rename} of=${doing.of} onDone=${done} onClose=${() => setDoing(undefined)} />`}${doing?.what === 'end' && html`<${End} of=${doing.of} onDone=${done} onClose=${() => setDoing(undefined)} />`}`;
}

interface AskProps {
  readonly of: Session;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function Rename({ of, onDone, onClose }: AskProps) {
  const [name, setName] = useState(of.name);
  const [error, setError] = useState<string | undefined>(undefined);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await api.put(`/sessions/${of.id}`, { name: name.trim() });
      onDone();
    } catch (thrown) {
      setError(messageOf(thrown));
    }
  };
  return html`<${Dialog} title=${words('renameOf', { name: of.name })} onClose=${onClose}><form onSubmit=${save}><${TextField} label=${words('name')} value=${name} error=${error} onInput=${setName} /><div class="actions"><${Button} onClick=${onClose}>${words('cancel')}<//><${Button} kind="main" type="submit" disabled=${name.trim() === '' || name.length > 60}>${words('save')}<//></div></form><//>`;
}

function End({ of, onDone, onClose }: AskProps) {
  const end = async () => {
    await api.delete(`/sessions/${of.id}`);
    tell(words('ended', { name: of.name }));
    onDone();
  };
  return html`<${Dialog} title=${words('endOf', { name: of.name })} onClose=${onClose} actions=${html`<${Button} onClick=${onClose}>${words('cancel')}<//><${Button} kind="danger" onClick=${end}>${words('end')}<//>`}><p>${words(of.kind === 'browser' || of.browser !== undefined ? 'endBrowserSure' : 'endSure')}</p><//>`;
}
