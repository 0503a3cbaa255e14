/** Screens that are lists: notifications, apps, timers, what left the device. */

import type { Layout, Part, Scene, SceneNode } from '@device-core/plugin-api/scene';
import { buttons, GRID, ground, literal, onGrid, target } from '@device-core/plugin-api/scene';
import { type Alarm, WEEKDAYS } from '@device-core/plugin-api/services/alarms';
import type { Surroundings } from '@device-core/plugin-api/services/renderer';
import type { Drawing, Opened } from '../facts.ts';
import { lengthText } from '../length.ts';
import { page } from '../page.ts';
import { note, row } from '../parts/part.ts';
import { localeOfWords, type Strings } from '../strings/index.ts';

const LEVEL_ICONS = { info: 'info', success: 'check', warn: 'warn', error: 'error' } as const;

export async function notificationList(
  { facts, page: at, surroundings }: Drawing,
  strings: Strings,
  layout: Layout,
): Promise<Scene> {
  const { title, none, clear } = strings.notifications;
  const time = new Intl.DateTimeFormat(surroundings.locale, {
    hour: 'numeric',
    minute: '2-digit',
    timeZone: surroundings.timeZone,
  });
  const parts = async (width: number) => {
    const rows = facts.notifications.map((one, index) =>
      row(
        {
          title: literal(one.count > 1 ? `${one.text} (${one.count})` : one.text),
          body: literal(`${one.title} · ${time.format(one.at)}`),
          icon: LEVEL_ICONS[one.level],
          colour: `@${one.level}`,
          tap: `note.${index}`,
        },
        width,
        layout,
      ),
    );
    return [...(await Promise.all(rows)), await buttons([{ id: 'note.all', title: clear }], width, layout)];
  };
  const empty = await note(none, 600, layout);
  return page({ title, parts: facts.notifications.length === 0 ? async () => [] : parts, empty }, at, strings, layout);
}

export async function launcher({ facts, page: at }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const { title, none } = strings.apps;
  const parts = async (width: number): Promise<readonly Part[]> => {
    const columns = layout.line('caption') > 48 ? 2 : 3;
    const rows: Part[] = [];
    for (let from = 0; from < facts.apps.length; from += columns)
      rows.push(await tiles(facts.apps.slice(from, from + columns), from, columns, width, layout));
    return rows;
  };
  return page({ title, parts, empty: await note(none, 600, layout) }, at, strings, layout);
}

/** A sign as large as a thumb, and the title below. Without a picture the first letter stands for the app. */
async function tiles(
  apps: readonly Opened[],
  from: number,
  columns: number,
  width: number,
  layout: Layout,
): Promise<Part> {
  const gap = GRID.gap;
  const wide = Math.floor((width - (columns - 1) * gap) / columns);
  const icon = 112;
  const titles = await layout.blocks(
    ...apps.map(({ title }) => ({
      text: title,
      role: 'caption' as const,
      width: wide - 16,
      lines: 2,
      align: 'center' as const,
    })),
  );
  const text = Math.max(...titles.map(({ height }) => height));
  const height = onGrid(24 + icon + 12 + text + 20);
  const x = (wide - icon) / 2;
  const nodes = apps.map((app, index) => {
    const letter = [...app.title.trim()][0]?.toLocaleUpperCase() ?? '?';
    const sign: SceneNode[] =
      app.icon === undefined
        ? [
            {
              kind: 'rect',
              x,
              y: 24,
              w: icon,
              h: icon,
              radius: 32,
              fill: '@accent-soft',
              stroke: '@outline',
              strokeWidth: 2,
            },
            {
              kind: 'text',
              x,
              y: 24,
              w: icon,
              h: icon,
              text: literal(letter),
              role: 'title',
              size: 52 / Math.max(1, layout.line('title') / 60),
              colour: '@text',
              align: 'center',
              valign: 'middle',
              lines: 1,
            },
          ]
        : [{ kind: 'image', image: app.icon, x, y: 24, w: icon, h: icon, radius: 32, fit: 'cover' }];
    return target(
      `app-${from + index}`,
      `app.${from + index}`,
      { x: index * (wide + gap), y: 0, w: wide, h: height },
      [ground(wide, height), ...sign, ...(titles[index] ? [titles[index].at(8, 24 + icon + 12)] : [])],
      app.title,
    );
  });
  return { nodes, height };
}

export async function timerList(
  { facts, page: at, surroundings }: Drawing,
  strings: Strings,
  layout: Layout,
): Promise<Scene> {
  const { title, none, stop, stopLabel, remove, removeLabel } = strings.timers;
  const timers = facts.timers.map(({ id, at: until, seconds }): CountRow => {
    const caption = lengthText(seconds, localeOfWords(surroundings.locale));
    return { id: `timer.${id}`, figures: `{countdown:${until}}`, caption, act: stop, label: stopLabel(caption) };
  });
  const alarms = facts.alarms.map((alarm): CountRow => {
    const [time, caption] = [alarmTime(alarm, surroundings), alarmText(alarm, surroundings, strings)];
    return { id: `alarm.${alarm.id}`, figures: time, caption, act: remove, label: removeLabel(`${caption} ${time}`) };
  });
  const parts = (width: number) => Promise.all([...timers, ...alarms].map((one) => countRow(one, width, layout)));
  return page({ title, parts, empty: await note(none, 600, layout) }, at, strings, layout);
}

const alarmTime = ({ next = 0 }: Alarm, { locale, timeZone }: Surroundings): string =>
  new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone }).format(next);

/** Its days, or the one day on which it rings, and its text. */
function alarmText({ next = 0, days, text }: Alarm, { locale, timeZone }: Surroundings, strings: Strings): string {
  const short = new Intl.DateTimeFormat(localeOfWords(locale), { weekday: 'short', timeZone: days ? 'UTC' : timeZone });
  // The 5th of January 1970 was a Monday.
  const named = days?.map((day) => short.format(Date.UTC(1970, 0, 5 + WEEKDAYS.indexOf(day)))).join(', ');
  const when = days?.length === WEEKDAYS.length ? strings.timers.daily : (named ?? short.format(next));
  return text === undefined ? when : `${when} · ${text}`;
}

/** An alarm in one line: `Tue 7:00 AM`. */
export function alarmLine(alarm: Alarm, surroundings: Surroundings): string {
  const { locale, timeZone } = surroundings;
  const day = new Intl.DateTimeFormat(localeOfWords(locale), { weekday: 'short', timeZone }).format(alarm.next ?? 0);
  const line = `${day} ${alarmTime(alarm, surroundings)}`;
  return alarm.text === undefined ? line : `${line} · ${alarm.text}`;
}

interface CountRow {
  /** Name of its button and its touch. */
  readonly id: string;
  readonly figures: string;
  readonly caption: string;
  readonly act: string;
  readonly label: string;
}

/** Time that is left or at which it rings, what is known of it, and a button that ends it. */
async function countRow(
  { id, figures: text, caption: length, act, label }: CountRow,
  width: number,
  layout: Layout,
): Promise<Part> {
  const start = 28;
  const button = { w: Math.max(GRID.target, Math.round(width * 0.28)), h: GRID.target };
  const inner = width - start - button.w - 40;
  const [caption] = await layout.blocks({
    text: literal(length),
    role: 'caption',
    width: inner,
    lines: 1,
    colour: '@text-soft',
  });
  const height = onGrid(Math.max(152, layout.line('display') + caption.height + 24));
  const figures = await layout.fitted('00:00:00', 'display', { width: inner, height: height - caption.height - 24 });
  const y = Math.round((height - figures.height - caption.height) / 2);
  const word = await layout.fitted(act, 'label', { width: button.w - 24, height: layout.line('label') });
  return {
    height,
    nodes: [
      ground(width, height),
      {
        kind: 'text',
        x: start,
        y,
        w: inner,
        h: figures.height,
        text,
        role: 'display',
        size: figures.size,
        weight: 700,
        lines: 1,
        tabular: true,
      },
      caption.at(start, y + figures.height),
      target(
        id.replace('.', '-'),
        id,
        { x: width - button.w - 24, y: Math.round((height - button.h) / 2), ...button },
        [
          ground(button.w, button.h, '@sunken', button.h / 2),
          {
            kind: 'text',
            x: 12,
            y: Math.round((button.h - word.height) / 2),
            w: button.w - 24,
            h: word.height,
            text: act,
            role: 'label',
            size: word.size,
            weight: 700,
            align: 'center',
            lines: 1,
          },
        ],
        label,
      ),
    ],
  };
}

export async function departureList(
  { facts, page: at, surroundings }: Drawing,
  strings: Strings,
  layout: Layout,
): Promise<Scene> {
  const { left, leftNone, leftTo } = strings.privacy;
  const time = new Intl.DateTimeFormat(surroundings.locale, {
    day: 'numeric',
    month: 'short',
    hour: 'numeric',
    minute: '2-digit',
    timeZone: surroundings.timeZone,
  });
  const bytes = new Intl.NumberFormat(surroundings.locale, {
    style: 'unit',
    unit: 'kilobyte',
    maximumFractionDigits: 1,
  });
  const parts = (width: number) =>
    Promise.all(
      facts.departures.map((one) =>
        row(
          {
            icon: 'upload',
            title: literal(one.to),
            body: literal(`${leftTo(one.for, one.what)} · ${time.format(one.at)}`),
            ...(one.bytes === undefined ? {} : { value: bytes.format(one.bytes / 1_000) }),
          },
          width,
          layout,
        ),
      ),
    );
  return page({ title: left, parts, empty: await note(leftNone, 600, layout) }, at, strings, layout);
}
