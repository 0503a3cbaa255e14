import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { panelAnswers } from '@device-core/plugin-api/inside/services/panel-answers';
import { apps } from '@device-core/plugin-api/services/apps';
import { audio } from '@device-core/plugin-api/services/audio';
import { device } from '@device-core/plugin-api/services/device';
import { display } from '@device-core/plugin-api/services/display';
import { intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { prompts } from '@device-core/plugin-api/services/prompts';
import { voice } from '@device-core/plugin-api/services/voice';
import { Listeners } from './ear.ts';
import { KeptSurface } from './kept-surface.ts';
import { goodbyeScene, SWITCH_OFF, safeModeScene } from './pages.ts';
import { PromptView } from './prompt-view.ts';
import { SafeMode } from './safe-mode.ts';
import { CORNER, earScene, NOTHING, noticeScene } from './signs.ts';
import { SpokenQuestions } from './spoken.ts';
import { stringsOf } from './strings/index.ts';
import { type Power, Troubles, type Update } from './troubles.ts';

/** How long the panel says what became of an update. */
const TOLD_MS = 60_000;

interface SystemViewConfig {
  readonly chargingMs: number;
}

const SAFE_MODE_SKU = 'safe-mode';
const requires = { device, display };

export const plugin = definePlugin<typeof requires, SystemViewConfig>({
  requires,
  async setup(host, { device: about, display: screen }) {
    const { scope, log, bus, clock, config } = host;
    const { sku } = await about.info();
    const troubles = new Troubles();
    const listeners = new Listeners();
    let plugged: Disposable | undefined;
    let safe: SafeMode | undefined;
    scope.defer('sign of the charger', () => plugged?.[Symbol.dispose]());
    let told: Disposable | undefined;
    scope.defer('end of an update', () => told?.[Symbol.dispose]());

    const company = { display: screen, log };
    const words = async () => stringsOf((await screen.surroundings()).locale);
    // In this order, and never taken away: the corner is above all else, always.
    const page = new KeptSurface(company, 'page', async () => {
      if (troubles.shuttingDown) return { scene: goodbyeScene(troubles.reason, await words()), modal: true };
      if (sku.id !== SAFE_MODE_SKU) return { scene: NOTHING, modal: false };
      const { blame = { outcome: '' }, code = 'device-core safe mode' } = safe ?? {};
      return { scene: await safeModeScene(screen, blame, code), modal: true };
    });
    const notice = new KeptSurface(company, 'notice', async () =>
      noticeScene(troubles.notice(plugged !== undefined, await words()), screen),
    );
    const corner = new KeptSurface(company, 'capture', async () => {
      const strings = await words();
      return { scene: earScene(listeners.ear, strings), box: CORNER };
    });
    await page.look();
    await notice.look();
    await corner.look();

    const questions: PromptView = new PromptView(host, screen, () => void spoken.look());
    const spoken = new SpokenQuestions(questions, log);
    host.when(intents, (service, during) => spoken.follow(service, during));
    host.when(prompts, async (service, during) => {
      during.use(
        'questions',
        bus.subscribe('prompt.state', () => questions.look()),
      );
      during.defer('questions', () => void questions.questions(undefined));
      await questions.questions(service);
    });
    host.when(panelAnswers, (service, during) => {
      questions.answers(service);
      during.defer('answers', () => questions.answers(undefined));
    });
    host.when(apps, async (service, during) => {
      during.use(
        'titles of apps',
        service.onChange(({ id, title }) => {
          listeners.titles.set(id, title);
          void corner.look();
        }),
      );
      for (const { id, title } of await service.list()) listeners.titles.set(id, title);
      await corner.look();
    });
    host.when(audio, (service, during) => {
      during.use(
        'ear',
        service.onState((state) => {
          listeners.audio(state);
          troubles.sound(state.problem);
          void corner.look();
          void notice.look();
        }),
      );
      during.defer('ear', () => {
        listeners.audio(undefined);
        troubles.sound(undefined);
        void corner.look();
      });
    });
    bus.subscribe('audio.state', ({ payload }) => {
      listeners.voice((payload as { readonly state?: unknown }).state);
      void corner.look();
    });
    // The voice may have spoken before this subscription; until its answer the sign is the full one.
    host.when(voice, async (service) => {
      const { state } = await service.state();
      if (!listeners.voiceIsKnown) listeners.voice(state);
      await corner.look();
    });
    bus.subscribe('plugin.state', ({ payload }) => {
      const { plugin: id, state } = payload as { readonly plugin: string; readonly state: string };
      // A voice that is gone listens no more, and does not say so.
      if (id === 'voice' && state !== 'active') listeners.voice(undefined);
      troubles.plugin(id, state);
      void notice.look();
      void corner.look();
    });
    bus.subscribe('system.network', ({ payload }) => {
      troubles.network((payload as { readonly state?: unknown }).state);
      void notice.look();
    });
    bus.subscribe('update.state', ({ payload }) => {
      if (troubles.update(payload as Update)) {
        told?.[Symbol.dispose]();
        told = clock.after(TOLD_MS, () => {
          troubles.updateOver();
          void notice.look();
        });
      }
      void notice.look();
    });
    bus.subscribe('system.power', ({ payload }) => {
      const before = troubles.charging;
      troubles.power(payload as Power);
      plugged?.[Symbol.dispose]();
      plugged = undefined;
      if (troubles.charging && !before)
        plugged = clock.after(config.chargingMs, () => {
          plugged = undefined;
          void notice.look();
        });
      if (troubles.shuttingDown)
        screen.wake('power').catch((thrown: unknown) => log.debug({ reason: reasonOf(thrown) }, 'wake'));
      void page.look();
      void notice.look();
    });
    const why = async (): Promise<void> => {
      await safe
        ?.read()
        .catch((thrown: unknown) => log.warn({ reason: reasonOf(thrown) }, 'cannot read why safe mode runs'));
      await page.look();
    };
    if (sku.id === SAFE_MODE_SKU)
      host.when(operations, async (service, during) => {
        safe = new SafeMode(service, during);
        during.defer('safe mode', () => {
          safe = undefined;
        });
        await why();
      });
    // By then those who tell it have started.
    if (sku.id === SAFE_MODE_SKU) host.tap('kernel.ready', () => void why());
    scope.use(
      'touches',
      screen.onInput((surface, input) => {
        if (surface === 'prompt') questions.touched(input);
        if (surface !== 'page' || input.phase !== 'tap' || input.tap !== SWITCH_OFF || !safe) return;
        safe
          .switchOff()
          .then(() => page.look())
          .catch((thrown: unknown) => log.error({ reason: reasonOf(thrown) }, 'cannot switch the plugin off'));
      }),
    );
    scope.use(
      'surroundings',
      screen.onSurroundings(() => {
        questions.again();
        void corner.look();
        void page.look();
        void notice.look();
      }),
    );
  },
});
