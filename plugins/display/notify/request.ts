/** Notification that an event asks for, or undefined for a malformed one that passed the door unchecked. Pure. */
import type { EventEnvelope } from '@device-core/plugin-api';
import type { Notification } from '@device-core/plugin-api/services/display';

export type Level = Notification['level'];
/** From the least to the most urgent: how the queues are ordered. */
export const LEVELS: readonly Level[] = ['info', 'success', 'warn', 'error'];

export interface Button {
  readonly id: string;
  readonly title: string;
}

/** Owner of a notification. */
interface Owner {
  /** Absent: the Core, a plugin or the operator. */
  readonly app?: string;
  /** The app is named by a plugin or the operator: it gets no answer, and cannot change the notification. */
  readonly behalf?: true;
}

export interface ToastRequest extends Owner {
  /** Name by the owner. */
  readonly id?: string;
  readonly text: string;
  readonly level: Level;
  readonly icon?: string;
  readonly durationMs?: number;
}

export interface NewBanner extends ToastRequest {
  readonly progress?: number;
  readonly buttons?: readonly Button[];
}

export type BannerRequest =
  | { readonly action: 'show'; readonly asked: NewBanner }
  | (Owner & { readonly action: 'update'; readonly id: string; readonly change: Partial<NewBanner> })
  | (Owner & { readonly action: 'dismiss'; readonly id: string });

const MOST_TEXT = 1_000;
const MOST_ID = 100;
const MOST_APP = 128;

/** Owner app comes from the bus; plugins and the operator may name one. */
function ownerOf({ source, payload }: EventEnvelope): Owner {
  if (source.startsWith('app.')) return { app: source.slice(4) };
  const { app } = payload as { readonly app?: unknown };
  return isText(app, MOST_APP) ? { app, behalf: true } : {};
}

export function toastOf(event: EventEnvelope): ToastRequest | undefined {
  const members = membersOf(event.payload);
  const { text, level } = members;
  return text === undefined || level === undefined ? undefined : { ...members, ...ownerOf(event), text, level };
}

export function bannerOf(event: EventEnvelope): BannerRequest | undefined {
  const { action } = event.payload as { readonly action?: unknown };
  const members = membersOf(event.payload);
  const { text, level, id } = members;
  const owner = ownerOf(event);
  if (action === 'show')
    return text === undefined || level === undefined
      ? undefined
      : { action, asked: { ...members, ...owner, text, level } };
  if (id === undefined) return undefined;
  if (action === 'update') return { action, ...owner, id, change: members };
  return action === 'dismiss' ? { action, ...owner, id } : undefined;
}

function membersOf(payload: object): Partial<NewBanner> {
  const { text, level, icon, id, durationMs, progress, buttons } = payload as Readonly<Record<string, unknown>>;
  return {
    ...(isText(text, MOST_TEXT) && { text: drawable(text) }),
    ...(LEVELS.some((one) => one === level) && { level: level as Level }),
    ...(isText(icon, 200) && { icon }),
    ...(isText(id, MOST_ID) && { id }),
    ...(isNumber(durationMs, 3_600_000) && { durationMs }),
    ...(isNumber(progress, 1) && { progress }),
    ...(Array.isArray(buttons) && {
      buttons: buttons
        .filter(isButton)
        .slice(0, 2)
        .map((one) => ({ ...one, title: drawable(one.title) })),
    }),
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]+/g;

/** Scenes take no control characters and no half characters; lists of notifications are drawn elsewhere, too. */
function drawable(text: string): string {
  return text.toWellFormed().replace(CONTROLS, ' ');
}

function isText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= most;
}

function isNumber(value: unknown, most: number): value is number {
  return typeof value === 'number' && value >= 0 && value <= most;
}

function isButton(value: unknown): value is Button {
  const { id, title } = (value ?? {}) as Partial<Button>;
  return isText(id, MOST_ID) && isText(title, MOST_ID);
}
