/** Effects of touches other than navigation. Each acts at once; a failure is shown on the screen, with its code. */
import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import type { Network } from '@device-core/plugin-api/services/network';
import type { Problem } from './facts.ts';
import type { Guide } from './guide.ts';
import { TEXT_SCALES, THEME_CHOICES } from './screens/settings.ts';
import type { Senses } from './senses.ts';

const STEP = 0.1;
/** A screen that is darker could not be made lighter by who looks at it. */
const DARKEST = 0.1;
const BY = 'person';
/** Seconds that `+1 min` sets. */
const MORE_SECONDS = 60;

export interface Company {
  readonly senses: Senses;
  readonly guide: () => Guide;
  readonly log: Logger;
}

export function doer({ senses, guide, log }: Company): (tap: string) => void {
  const { hands } = senses;
  const failed = (problem: Problem, thrown: unknown) => {
    log.warn({ code: problem.code, reason: reasonOf(thrown) }, `cannot do what was asked for on the screen`);
    senses.change({ mishap: problem });
    void guide().go('problem');
  };
  const codeOf = (thrown: unknown) => (thrown instanceof CoreError ? thrown.code : 'INTERNAL');
  const attempt = (kind: 'setting' | 'app' | 'wifi', what: string, deed: () => Promise<unknown> | undefined) =>
    void (async () => await deed())().catch((thrown: unknown) => failed({ kind, what, code: codeOf(thrown) }, thrown));
  const keep = (key: string, value: unknown) =>
    attempt('setting', key, () => hands.config?.set({}, key, value, { by: BY }));

  const volume = (by: number) => {
    const now = senses.facts.audio?.volume ?? 0;
    attempt('setting', 'volume', () => hands.audio?.setVolume(rounded(now + by, 0)));
  };
  const brightness = (by: number) => {
    const now = senses.facts.display?.brightness ?? 1;
    attempt('setting', 'brightness', () => hands.display.brightness(rounded(now + by, DARKEST)));
  };
  const deeds: Readonly<Record<string, () => void>> = {
    'do.louder': () => volume(STEP),
    'do.quieter': () => volume(-STEP),
    'do.brighter': () => brightness(STEP),
    'do.darker': () => brightness(-STEP),
    'do.dark': () => attempt('setting', 'power', () => hands.display.power('off')),
    'do.motion': () =>
      attempt('setting', 'display.reducedMotion', async () =>
        keep('display.reducedMotion', !(await hands.display.surroundings()).reducedMotion),
      ),
    'do.local': () => keep('voice.localOnly', senses.facts.localOnly !== true),
    'do.microphone': () => {
      const muted = senses.facts.microphone === 'on';
      attempt('setting', 'microphone', () => (hands.voice ? hands.voice.mute(muted) : hands.audio?.setMuted(muted)));
    },
    'ring.stop': () => {
      const { ringing, ringingAlarms } = senses.facts;
      if (ringing.length > 0) attempt('setting', 'timer', () => hands.timers?.silence());
      if (ringingAlarms.length > 0) attempt('setting', 'alarm', () => hands.alarms?.silence());
    },
    'ring.snooze': () => attempt('setting', 'alarm', () => hands.alarms?.snooze()),
    'ring.more': () =>
      attempt('setting', 'timer', async () => {
        await hands.timers?.silence();
        await hands.timers?.set(MORE_SECONDS);
      }),
    'problem.hide': () => {
      void guide().home();
      senses.hideProblem();
    },
    'do.join': () => withNetwork((network, ssid) => network.join(ssid)),
    'do.forget': () => withNetwork((network, ssid) => network.forget(ssid)),
    'note.all': () =>
      attempt('setting', 'notifications', () =>
        Promise.all(senses.facts.notifications.map(({ id }) => hands.notifications?.dismiss(id))),
      ),
  };

  /** A second touch while one is at work does nothing. */
  const withNetwork = (deed: (network: Network, ssid: string) => Promise<void>) => {
    const { network } = hands;
    const { ssid, busy } = senses.facts.chosen ?? {};
    if (!network || ssid === undefined || busy) return;
    senses.change({ chosen: { ssid, busy: true } });
    attempt('wifi', ssid, async () => {
      try {
        await deed(network, ssid);
      } finally {
        // Another one may be looked at by now.
        senses.change({ chosen: { ssid: senses.facts.chosen?.ssid ?? ssid } });
        await senses.lookRound();
      }
    });
  };
  const open = (app: string, title: string) =>
    attempt('app', title, async () => {
      const { apps, display } = hands;
      const running = senses.facts.apps.find(({ id }) => id === app)?.running ?? false;
      if (!running) await apps?.start(app);
      await display.open(app);
    });
  const one = (tap: string): void => {
    const [kind, rest = ''] = [tap.slice(0, tap.indexOf('.')), tap.slice(tap.indexOf('.') + 1)];
    if (kind === 'theme' && THEME_CHOICES.some((id) => id === rest)) keep('display.theme', rest);
    else if (kind === 'text' && TEXT_SCALES.some((scale) => String(scale * 100) === rest))
      keep('display.textScale', Number(rest) / 100);
    else if (kind === 'app') {
      const app = senses.facts.apps[Number(rest)];
      if (app) open(app.id, app.title);
    } else if (kind === 'timer') attempt('setting', 'timer', () => hands.timers?.cancel(rest));
    else if (kind === 'alarm') attempt('setting', 'alarm', () => hands.alarms?.cancel(rest));
    else if (kind === 'wifi') {
      const found = senses.facts.wifi?.[Number(rest)];
      if (!found) return;
      senses.change({ chosen: { ssid: found.ssid, ...(senses.facts.chosen?.busy && { busy: true }) } });
      void guide().go('wifi', { kind: 'deeper' });
    } else if (kind === 'note') {
      const note = senses.facts.notifications[Number(rest)];
      if (!note) return;
      attempt('setting', 'notifications', () => hands.notifications?.dismiss(note.id));
      if (note.app !== undefined && senses.facts.apps.some(({ id }) => id === note.app)) open(note.app, note.title);
    }
  };
  return (tap) => (Object.hasOwn(deeds, tap) ? deeds[tap]?.() : one(tap));
}

const rounded = (share: number, least: number): number => Math.round(Math.min(1, Math.max(least, share)) * 100) / 100;
