/** Live items of a stream: the last ones, and their number. */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../core/api.ts';
import { bytesText } from '../../core/format.ts';
import { feed, type Line, stream } from '../../core/live.ts';
import { Button, Copy } from '../../parts/button.ts';
import { Card, Problem } from '../../parts/frame.ts';
import { plain } from '../../parts/plain.ts';
import { LongList } from '../../parts/table.ts';
import { exactTime } from '../events/shown.ts';
import { words } from './text.ts';

const MOST = 500;
const PICTURE_MS = 100;

interface Came {
  readonly key: number;
  readonly at: number;
  readonly text: string;
}

/** An operation whose answer is a stream (`operation`), or a stream of bytes (`name`). */
export function Items(props: {
  readonly operation?: string;
  readonly name?: string;
  readonly params: object;
  readonly onStop: () => void;
}) {
  const [, setTurn] = useState(0);
  const [end, setEnd] = useState<{ readonly error: ApiError | undefined } | undefined>(undefined);
  const state = useRef({ items: [] as Came[], count: 0, bytes: 0, lost: false });
  useEffect(() => {
    let waiting = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let line: Line | undefined;
    const draw = () => {
      timer = undefined;
      line?.more(waiting);
      waiting = 0;
      setTurn((now) => now + 1);
    };
    const add = (text: string, bytes: number) => {
      const of = state.current;
      waiting += 1;
      of.count += 1;
      of.bytes += bytes;
      of.items = [...of.items.slice(1 - MOST), { key: of.count, at: Date.now(), text }];
      timer ??= setTimeout(draw, PICTURE_MS);
    };
    const on = {
      opened: (again: boolean) => {
        state.current.lost ||= again;
        timer ??= setTimeout(draw, PICTURE_MS);
      },
      closed: (error: ApiError | undefined) => setEnd({ error }),
    };
    line =
      props.operation === undefined
        ? stream(
            props.name ?? '',
            props.params,
            { ...on, chunk: (bytes) => add(startOf(bytes), bytes.length) },
            { mine: true, credit: 64 },
          )
        : feed(props.operation, props.params, { ...on, item: ({ data }) => add(JSON.stringify(data), 0) }, 64);
    return () => {
      line.stop();
      clearTimeout(timer);
    };
  }, []);
  const { items, count, bytes, lost } = state.current;
  const stop = html`<${Button} icon="stop" onClick=${props.onStop}>${words('stop')}<//>`;
  const counted =
    props.operation === undefined
      ? words('chunks', { n: count, bytes: bytesText(bytes) })
      : words('items', { n: count });
  const row = ({ at, text }: Came) =>
    html`<p class="item-row"><time>${exactTime(at)}</time><bdi>${plain(text, 400)}</bdi></p>`;
  return html`<${Card} title=${words('answer')} aside=${stop}>${end?.error && html`<${Problem} error=${end.error} />`}<p class="note" role="status">${end ? words('over') : count === 0 ? words('waiting') : counted} ${lost && words('interrupted')}</p>${items.length > 0 && html`<${LongList} label=${words('answer')} items=${items} height=${32} follow itemKey=${({ key }: Came) => key} row=${row} /><div class="row"><span class="note">${words('lastItems', { n: Math.min(items.length, MOST) })}</span><${Copy} text=${items.map(({ text }) => text).join('\n')} label=${words('copyAnswer')} /></div>`}<//>`;
}

/** A line of JSON as it is, other bytes as digits. */
function startOf(bytes: Uint8Array): string {
  const start = bytes.subarray(0, 64);
  if (bytes[0] === 0x7b) return new TextDecoder().decode(bytes.subarray(0, 400));
  return [...start].map((one) => one.toString(16).padStart(2, '0')).join(' ') + (bytes.length > 64 ? ' …' : '');
}
