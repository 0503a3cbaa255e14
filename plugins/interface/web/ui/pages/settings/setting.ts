/** One setting: its field, what each layer says of it, and ways back. */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../core/api.ts';
import { agoText } from '../../core/format.ts';
import { isOperator } from '../../core/session.ts';
import { errorsOf, type FieldError } from '../../form/errors.ts';
import { Form } from '../../form/form.ts';
import { same } from '../../form/schema.ts';
import { Button, tellError } from '../../parts/button.ts';
import { Badge } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import {
  giveBack,
  type Layer,
  layerOfWrites,
  restore,
  type Setting,
  schemaFor,
  sourceText,
  titleOf,
  valueText,
  write,
} from './model.ts';
import { words } from './text.ts';

/** A typed value, and the revision at which the edit began. */
interface Draft {
  readonly value: unknown;
  readonly whole: boolean;
  readonly revision: number;
}

interface Done {
  readonly said: 'saved' | 'given' | 'undone';
  readonly undo?: () => Promise<void>;
}

interface Conflict {
  readonly theirs: string;
  readonly revision: number;
  readonly who: string;
}

export function SettingRow(props: {
  readonly setting: Setting;
  readonly reload: () => void;
  readonly chosen?: boolean;
  /** Source of the setting in a list of several sources. */
  readonly from?: string;
}) {
  const { setting, reload } = props;
  const [draft, setDraft] = useState<Draft | undefined>(undefined);
  const [errors, setErrors] = useState<readonly FieldError[]>([]);
  const [done, setDone] = useState<Done | undefined>(undefined);
  const [conflict, setConflict] = useState<Conflict | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!props.chosen) return;
    box.current?.scrollIntoView({ block: 'center' });
    box.current?.focus();
  }, [props.chosen]);
  const title = titleOf(setting);
  const value = setting.secret ? undefined : setting.value;
  const shown = draft ? draft.value : value;
  const disabled = !setting.writable || !isOperator();
  const source = layerOfWrites(setting);
  const settled = (said: Done) => {
    setDraft(undefined);
    setErrors([]);
    setConflict(undefined);
    setDone(said);
    reload();
  };
  const undo = (former: Layer | undefined, of: Layer['source']) => async () => {
    await restore(setting, of, former);
    settled({ said: 'undone' });
  };
  const save = async (revision: number) => {
    const former = setting.layers.find((layer) => layer.source === source && layer.writable);
    try {
      await write(setting, draft?.value ?? null, revision);
      settled({ said: 'saved', ...(!setting.secret && { undo: undo(former, source) }) });
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      if (thrown.code === 'CONFIG_CONFLICT') setConflict(conflictOf(thrown));
      else if (thrown.code === 'CONFIG_VALUE_INVALID' || thrown.code === 'PARAMS_INVALID') setErrors(errorsOf(thrown));
      else throw thrown;
    }
  };
  const back = async (layer: Layer) => {
    try {
      await giveBack(setting, layer);
      settled({ said: 'given', ...(!setting.secret && { undo: undo(layer, layer.source) }) });
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.code === 'CONFIG_CONFLICT') reload();
      throw thrown;
    }
  };
  const change = (now: unknown, whole: boolean) => {
    setDone(undefined);
    setErrors([]);
    const began = draft?.revision ?? setting.revision;
    if (whole && same(now, value)) setDraft(undefined);
    else setDraft({ value: now, whole, revision: began });
  };
  return html`<div class="setting" ref=${box} tabindex="-1" role="group" aria-label=${title}><div class="setting-value"><${Form} schema=${schemaFor(setting)} label=${title} value=${shown} errors=${errors} disabled=${disabled} onChange=${change} /><p class="setting-key">${props.from !== undefined && html`<span>${props.from}</span>`}${setting.key !== title && html`<code>${setting.key}</code>`}</p>${
    draft &&
    conflict === undefined &&
    html`<div class="row"><${Button} kind="main" writes=${true} disabled=${!draft.whole || draft.value === undefined} label=${words('saveOf', { name: title })} onClick=${() => save(draft.revision)}>${words('save')}<//><${Button} kind="quiet" onClick=${() => {
      setDraft(undefined);
      setErrors([]);
    }}>${words('discard')}<//>${setting.applies === 'restart' && html`<span class="note">${setting.section.id === 'display' ? words('restartsScreen') : words('restarts', { id: setting.section.id })}</span>`}</div>`
  }${
    conflict &&
    draft &&
    html`<${Choose} conflict=${conflict} mine=${setting.secret ? words('hidden') : valueText(draft.value)} keep=${() => {
      setDraft(undefined);
      setConflict(undefined);
      reload();
    }} take=${() => save(conflict.revision)} />`
  }<div role="status" class="setting-done">${done && html`<span class="row"><span class="note"><${Icon} name="check" size=${16} /> ${words(done.said)}</span>${done.undo && html`<${Button} kind="quiet" icon="undo" writes=${true} label=${words('undoOf', { name: title })} onClick=${() => done.undo?.().catch(tellError)}>${words('undo')}<//>`}</span>`}</div></div><div class="setting-layers">${setting.skuOnly && html`<p class="setting-lock"><${Icon} name="lock" size=${16} /><span>${words('skuOnly')}</span></p>`}${setting.locked && html`<p class="setting-lock"><${Icon} name="lock" size=${16} /><span><strong>${words('locked')}</strong> ${setting.locked.reason ?? words('lockedBy', { pattern: setting.locked.pattern })}</span></p>`}<${Layers} setting=${setting} title=${title} back=${back} />${'running' in setting && html`<p class="note">${words('running', { value: valueText(setting.running) })}</p>`}</div></div>`;
}

function Layers(props: { setting: Setting; title: string; back: (layer: Layer) => Promise<void> }) {
  const { setting, title, back } = props;
  const { layers } = setting;
  if (layers.length === 0) return html`<p class="note">${words('nothingSet')}</p>`;
  const one = (layer: Layer) => {
    const name = sourceText(layer.source);
    const can = layer.writable && setting.writable;
    return html`<li key=${`${layer.source} ${layer.writable}`} class=${layer.wins ? 'wins' : ''}><span class="layer-name">${name}${layer.wins && layers.length > 1 && html`<${Badge} level="okay">${words('inForce')}<//>`}</span><span class="layer-value">${layer.hidden ? html`<em>${words('hidden')}</em>` : html`<code>${valueText(layer.value)}</code>`}</span><${Who} layer=${layer} />${layer.misfit !== undefined && html`<span class="layer-misfit"><${Icon} name="warn" size=${16} />${words('misfit', { reason: layer.misfit })}</span>`}${can && html`<${Button} kind="quiet" icon="undo" writes=${true} label=${words('giveBackOf', { name: title, layer: name })} onClick=${() => back(layer)}>${words('giveBack')}<//>`}</li>`;
  };
  return html`<ul class="layers" aria-label=${words('layersOf', { name: title })}>${layers.map(one)}</ul>`;
}

function Who({ layer: { setBy, setAt } }: { layer: Layer }) {
  if (setBy === undefined || setAt === undefined) return null;
  const when = agoText(setAt);
  const text = setBy === 'file' ? words('byFile', { when }) : words('setBy', { who: setBy, when });
  return html`<span class="note">${text}</span>`;
}

function Choose(props: { conflict: Conflict; mine: string; keep: () => void; take: () => Promise<void> }) {
  const { conflict } = props;
  return html`<div class="conflict" role="alert"><p><strong>${words('conflict')}</strong> <span class="note">${conflict.who}</span></p><dl class="facts"><div><dt>${words('theirs')}</dt><dd><code>${conflict.theirs}</code></dd></div><div><dt>${words('mine')}</dt><dd><code>${props.mine}</code></dd></div></dl><div class="row"><${Button} onClick=${props.keep}>${words('keepTheirs')}<//><${Button} kind="main" writes=${true} onClick=${props.take}>${words('useMine')}<//></div></div>`;
}

function conflictOf({ data }: ApiError): Conflict {
  const { value, revision, setBy, setAt } = data;
  const who =
    typeof setBy === 'string' && typeof setAt === 'number' ? words('setBy', { who: setBy, when: agoText(setAt) }) : '';
  return { theirs: 'value' in data ? valueText(value) : words('hidden'), revision: Number(revision), who };
}
