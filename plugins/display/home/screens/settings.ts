/** Settings: what can be changed here has an effect at once. */
import type { Layout, Part, Scene } from '@device-core/plugin-api/scene';
import { literal } from '@device-core/plugin-api/scene';
import type { Drawing } from '../facts.ts';
import { page } from '../page.ts';
import { note, options, row, slider } from '../parts/part.ts';
import type { Strings } from '../strings/index.ts';

export const TEXT_SCALES = [1, 1.25, 1.5, 2] as const;
export const THEME_CHOICES = ['auto', 'day', 'night', 'contrast'] as const;

const percent = (share: number, locale: string): string =>
  new Intl.NumberFormat(locale, { style: 'percent' }).format(share);
type Making = (width: number) => Promise<Part>;
const all = (makings: readonly Making[]) => (width: number) => Promise.all(makings.map((make) => make(width)));

export function settings({ facts, surroundings, page: at }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const { network, sound, look, privacy, about } = strings;
  const themes = { night: look.night, day: look.day, contrast: look.contrast } as const;
  const connected = facts.addresses.length > 0;
  const rows = [
    {
      tap: 'go.network',
      icon: connected ? 'network' : 'offline',
      title: network.title,
      value: connected ? network.online : network.offline,
    },
    ...(facts.audio === undefined
      ? []
      : [
          {
            tap: 'go.sound',
            icon: 'sound' as const,
            title: sound.title,
            value: percent(facts.audio.volume, surroundings.locale),
          },
        ]),
    { tap: 'go.look', icon: 'sun', title: look.title, value: themes[surroundings.theme.id as 'night'] ?? '' },
    {
      tap: 'go.privacy',
      icon: facts.microphone === 'off' ? 'muted' : 'shield',
      title: privacy.title,
      ...(facts.microphone === 'none'
        ? {}
        : { value: `${privacy.microphone}: ${facts.microphone === 'on' ? strings.on : strings.off}` }),
    },
    { tap: 'go.about', icon: 'info', title: about.title, value: '' },
  ] as const;
  const makings = rows.map(
    ({ value, ...spec }): Making =>
      (width) =>
        row({ ...spec, leads: true, ...(value ? { value } : {}) }, width, layout),
  );
  return page({ title: strings.settings.title, parts: all(makings) }, at, strings, layout);
}

export function sound({ facts, surroundings, page: at }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const { title, volume, louder, quieter, none } = strings.sound;
  const { audio } = facts;
  const makings: Making[] =
    audio === undefined
      ? [(width) => note(none, width, layout)]
      : [
          (width) =>
            slider(
              {
                title: volume,
                icon: audio.volume === 0 ? 'silent' : 'sound',
                share: audio.volume,
                value: percent(audio.volume, surroundings.locale),
                less: { tap: 'do.quieter', title: quieter },
                more: { tap: 'do.louder', title: louder },
              },
              width,
              layout,
            ),
          ...(audio.problem === undefined
            ? []
            : [(width: number) => note(literal(audio.problem ?? ''), width, layout)]),
        ];
  return page({ title, parts: all(makings) }, at, strings, layout);
}

export function look({ facts, surroundings, page: at }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const text = strings.look;
  const brightness = facts.display?.brightness ?? 1;
  const chosen = facts.theme ?? surroundings.theme.id;
  const makings: Making[] = [
    (width) =>
      slider(
        {
          title: text.brightness,
          icon: 'sun',
          share: brightness,
          value: percent(brightness, surroundings.locale),
          less: { tap: 'do.darker', title: text.darker },
          more: { tap: 'do.brighter', title: text.brighter },
        },
        width,
        layout,
      ),
    (width) =>
      options(
        {
          title: text.theme,
          icon: 'moon',
          options: THEME_CHOICES.map((id) => ({
            tap: `theme.${id}`,
            title: text[id],
            chosen: chosen === id,
          })),
        },
        width,
        layout,
      ),
    (width) =>
      options(
        {
          title: text.text,
          icon: 'text',
          options: TEXT_SCALES.map((scale) => ({
            tap: `text.${scale * 100}`,
            title: percent(scale, surroundings.locale),
            chosen: surroundings.textScale === scale,
          })),
        },
        width,
        layout,
      ),
    (width) =>
      row(
        { icon: 'motion', title: text.motion, body: text.motionSays, on: surroundings.reducedMotion, tap: 'do.motion' },
        width,
        layout,
      ),
    (width) => row({ icon: 'power', title: text.off, tap: 'do.dark' }, width, layout),
  ];
  return page({ title: text.title, parts: all(makings) }, at, strings, layout);
}

export function privacy({ facts, page: at }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const text = strings.privacy;
  const { microphone, localOnly } = facts;
  const makings: Making[] = [];
  if (microphone !== 'none')
    makings.push((width) =>
      row(
        {
          icon: microphone === 'on' ? 'microphone' : 'muted',
          title: text.microphone,
          body: microphone === 'on' ? text.microphoneOn : text.microphoneOff,
          on: microphone === 'on',
          tap: 'do.microphone',
        },
        width,
        layout,
      ),
    );
  if (localOnly !== undefined)
    makings.push((width) =>
      row({ icon: 'shield', title: text.local, body: text.localSays, on: localOnly, tap: 'do.local' }, width, layout),
    );
  makings.push((width) => row({ icon: 'upload', title: text.left, leads: true, tap: 'go.departures' }, width, layout));
  return page({ title: text.title, parts: all(makings) }, at, strings, layout);
}

export function about({ facts, surroundings, page: at }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const text = strings.about;
  const { device, apps } = facts;
  const time = new Intl.DateTimeFormat(surroundings.locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: surroundings.timeZone,
  });
  const makings: Making[] = [
    (width) =>
      row(
        {
          icon: 'info',
          title: text.device,
          value: literal(device.title),
          ...(device.simulated ? { body: text.simulated } : {}),
        },
        width,
        layout,
      ),
    (width) => row({ icon: 'sliders', title: text.software, value: device.version }, width, layout),
    (width) => row({ icon: 'power', title: text.started, value: time.format(device.startedAt) }, width, layout),
    (width) =>
      row(
        { icon: 'apps', title: text.apps, value: new Intl.NumberFormat(surroundings.locale).format(apps.length) },
        width,
        layout,
      ),
  ];
  return page({ title: text.title, parts: all(makings) }, at, strings, layout);
}
