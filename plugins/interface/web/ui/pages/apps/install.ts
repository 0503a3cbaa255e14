/** A package from a file: what it is and what it asks for, before anything of it is installed; then the change that installs it. */

import { yesTo } from '@device-core/plugin-api/inside/consent-choice';
import { html } from 'htm/preact';
import { useId, useState } from 'preact/hooks';
import { ApiError, api } from '../../core/api.ts';
import { toBase64 } from '../../core/bytes.ts';
import { bytesText, datedText } from '../../core/format.ts';
import { go, link } from '../../core/route.ts';
import { isOperator } from '../../core/session.ts';
import { Button, LinkButton } from '../../parts/button.ts';
import { chosenFile } from '../../parts/file.ts';
import { Badge, Card, Empty, Facts, Head, Loading, Problem } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { RightText, signedText } from '../../parts/right.ts';
import { clean, Said } from '../../parts/said.ts';
import { common } from '../../parts/text.ts';
import { ChangeView, useChange } from '../changes/change.ts';
import { Claims, Verdict } from './claims.ts';
import { words } from './install-text.ts';
import { Questions } from './questions.ts';
import type { Ask, Difference } from './shapes.ts';
import { text } from './text.ts';

interface Checked {
  readonly signer?: string;
  /** Name of its key. */
  readonly signedBy?: string;
  readonly hash: string;
}

interface Found {
  readonly name: string;
  readonly bytes: number;
  readonly source: string;
  readonly file: File;
  readonly difference: Difference;
  /** Verdict of the store on the file, or its refusal. */
  readonly checked?: Checked;
  readonly refused?: ApiError;
}

/** A trial carries the package in its call. */
const MOST_TRIED = 32 << 20;

/** `of`: the app that is to be brought up to date. */
export function Install({ of }: { of: string | undefined }) {
  const [found, setFound] = useState<Found | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [busy, setBusy] = useState(false);
  const [change, setChange] = useState<string | undefined>(undefined);
  const take = async (file: File) => {
    setFound(undefined);
    setError(undefined);
    setBusy(true);
    try {
      setFound(await look(file));
    } catch (thrown) {
      setError(thrown);
    }
    setBusy(false);
  };
  const lead = of === undefined ? text('installLead') : words('updateLead', { app: of });
  return html`<p><a href=${link('apps')}>← ${text('allApps')}</a></p><${Head} title=${text(of === undefined ? 'install' : 'update')} lead=${lead} />${
    change === undefined
      ? html`<${Choose} take=${take} busy=${busy} />${busy && html`<${Loading} />`}${error !== undefined && html`<${Failure} error=${error} />`}${found && html`<${Offer} key=${found.source} of=${of} found=${found} begun=${setChange} />`}`
      : html`<${Under} change=${change} app=${found?.difference.app ?? ''} again=${() => {
          setChange(undefined);
          setFound(undefined);
        }} />`
  }`;
}

/** Nothing is installed by it: the package is handed over, compared and checked. */
async function look(file: File): Promise<Found> {
  const { source, bytes } = await api.upload<{ readonly source: string; readonly bytes: number }>(
    'POST',
    '/apps/uploads',
    file,
  );
  const difference = await api.post<Difference>('/apps/diff', { source });
  const found = { name: file.name, bytes, source, file, difference };
  try {
    return { ...found, checked: await api.post<Checked>('/apps/install', { source, check: true }) };
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code !== 'OFFLINE') return { ...found, refused: thrown };
    throw thrown;
  }
}

function Choose({ take, busy }: { take: (file: File) => void; busy: boolean }) {
  const id = useId();
  const [over, setOver] = useState(false);
  if (!isOperator()) return html`<${Card}><${Empty} icon="lock" title=${common('viewer')} /><//>`;
  const chosen = (file: File | undefined) => {
    if (file) take(file);
  };
  return html`<div class=${`apps-drop ${over ? 'over' : ''}`} onDragOver=${(event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  }} onDragLeave=${() => setOver(false)} onDrop=${(event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    chosen(event.dataTransfer?.files[0]);
  }}><${Icon} name="upload" size=${32} /><p class="note">${words('chooseHint')}</p><input id=${id} class="unseen" type="file" accept=".app" disabled=${busy} onChange=${(event: Event) => chosen(chosenFile(event))} /><label for=${id} class="button main">${words('choose')}</label></div>`;
}

/** An error with what can be done about it, where we know it. */
function Failure({ error }: { error: unknown }) {
  const code = error instanceof ApiError ? error.code : '';
  const remedy = REMEDIES[code as keyof typeof REMEDIES];
  return html`<${Problem} error=${error} />${remedy && html`<p>${words(remedy)}</p>`}`;
}

const REMEDIES = {
  PACKAGE_INVALID: 'remedyPackage',
  MANIFEST_INVALID: 'remedyManifest',
  CAPABILITY_UNKNOWN: 'remedyManifest',
  SIGNATURE_INVALID: 'remedySignature',
  APP_CONFLICT: 'remedyConflict',
  PLATFORM_UNSUPPORTED: 'remedyPlatform',
  RUNTIME_MISSING: 'remedyRuntime',
  CONSENT_REQUIRED: 'remedyConsent',
  APP_ROLLED_BACK: 'remedyRolledBack',
  STORAGE_FULL: 'remedyFull',
  BUSY: 'remedyBusy',
} as const;

function Offer({ of, found, begun }: { of: string | undefined; found: Found; begun: (change: string) => void }) {
  const { difference, checked, refused, source, file } = found;
  const { app, version, former, title, description, asks } = difference;
  const [allowed, setAllowed] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState<unknown>(undefined);
  const toAsk = asks.filter(({ verdict }) => verdict === 'ask');
  const decided = asks.filter(({ verdict }) => verdict !== 'ask');
  // A package that asks for nothing gives nothing.
  const grants = toAsk.length === 0 ? [] : yesTo({ kind: 'consent', what: toAsk }, allowed);
  const wrong = of !== undefined && of !== app;
  const install = async () => {
    setError(undefined);
    try {
      const { change } = await api.post<{ readonly change: string }>('/apps/install', {
        source,
        id: app,
        version,
        grants,
      });
      begun(change);
    } catch (thrown) {
      setError(thrown);
    }
  };
  const attempt = async () => {
    setError(undefined);
    try {
      await api.post('/apps/try', {
        package: toBase64(new Uint8Array(await file.arrayBuffer())),
        grants,
      });
      go('apps', [app]);
    } catch (thrown) {
      setError(thrown);
    }
  };
  const rows = [
    [words('package'), `${clean(found.name)} (${bytesText(found.bytes)})`],
    [text('app'), html`<code>${clean(app)}</code>`],
    [
      text('version'),
      former === undefined ? clean(version) : words('insteadOf', { version: clean(version), former: clean(former) }),
    ],
    [
      words('signature'),
      checked?.signer
        ? html`<${Badge} level="okay">${signedText(checked.signedBy ?? checked.signer)}<//>`
        : html`<${Badge} level="warn">${signedText(null)}<//>`,
    ],
  ] as const;
  return html`<${Card} title=${words('whatItIs')}><p>${text('callsItself')} <${Said} words=${title} />${description && html`. ${text('saysOfItself')} <${Said} words=${description} />`}</p><${Facts} rows=${rows} /><//><${Rights} difference=${difference} toAsk=${toAsk} decided=${decided} allowed=${allowed} setAllowed=${setAllowed} />${refused && html`<${Card} title=${words('storeRefuses')}><${Failure} error=${refused} /><//>`}${wrong && html`<${Problem} error=${new Error(words('otherApp', { app, of: of ?? '' }))} />`}${error !== undefined && html`<${Failure} error=${error} />`}<div class="actions"><${Button} kind="main" icon="check" writes disabled=${refused !== undefined || wrong} onClick=${install}>${words(former === undefined ? 'installIt' : 'updateIt', { version: clean(version) })}<//>${file.size <= MOST_TRIED && html`<${Button} icon="play" writes onClick=${attempt}>${words('tryIt')}<//>`}</div><p class="note">${words('tryHint')}</p>`;
}

/** The difference of rights: what is more, what is decided already, what is less. */
function Rights({
  difference,
  toAsk,
  decided,
  allowed,
  setAllowed,
}: {
  difference: Difference;
  toAsk: readonly Ask[];
  decided: readonly Ask[];
  allowed: ReadonlySet<string>;
  setAllowed: (allowed: ReadonlySet<string>) => void;
}) {
  const { former, asks, dropped, budgets, functions } = difference;
  const title = words(former === undefined ? 'wants' : 'wantsMore');
  return html`<${Card} title=${title}>${asks.length === 0 && html`<p>${words(former === undefined ? 'wantsNothing' : 'wantsNoMore')}</p>`}${toAsk.length > 0 && html`<h3>${words('youDecide')}</h3><${Claims} asks=${toAsk} allowed=${allowed} onChange=${setAllowed} />`}${decided.length > 0 && html`<h3>${words('decided')}</h3><ul class="apps-grants">${decided.map((ask) => html`<li key=${`${ask.capability} ${String(ask.params?.ports)}`}><${RightText} right=${ask} aside=${html`<span class="apps-claim-aside"><${Verdict} of=${ask.verdict} /></span>`} /><p class="note">${text('byRule')} <code>${clean(datedText(ask.by.line))}</code></p></li>`)}</ul>`}${dropped.length > 0 && html`<h3>${words('givesUp')}</h3><ul class="apps-list">${dropped.map(({ capability, ports }) => html`<li key=${capability}><code>${clean(capability)}${ports ? ` ${ports.join(', ')}` : ''}</code></li>`)}</ul>`}${budgets.length > 0 && html`<h3>${text('budgets')}</h3><ul class="apps-list">${budgets.map(({ budget, from, to }) => html`<li key=${budget}><code>${clean(budget)}</code> ${String(from ?? '–')} → ${String(to ?? '–')}</li>`)}</ul>`}${functions.length > 0 && html`<h3>${text('functions')}</h3><ul class="apps-list">${functions.map(({ name, kind, utterances }) => html`<li key=${name}>${words(kind)} <code>${clean(name)}</code>${utterances.slice(0, 3).map((said) => html` <${Said} words=${said} />`)}</li>`)}</ul>`}<//>`;
}

/** While it is done: its steps, and the question about what was not allowed beforehand. */
function Under({ change, app, again }: { change: string; app: string; again: () => void }) {
  const asked = useChange(change);
  const { data } = asked;
  const over = data !== undefined && ['done', 'undone', 'failed'].includes(data.state);
  const code = data?.error?.code as keyof typeof REMEDIES | undefined;
  const remedy = code && REMEDIES[code];
  return html`${!over && html`<${Questions} of=${app} />`}<${ChangeView} of=${asked} />${remedy && html`<p>${words(remedy)}</p>`}${over && html`<div class="actions">${data.state === 'done' && html`<${LinkButton} kind="main" icon="apps" href=${link('apps', [app])}>${words('toApp')}<//>`}<${Button} onClick=${again}>${words('another')}<//></div>`}`;
}
