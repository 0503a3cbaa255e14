import {
  type AudioState,
  apps,
  audio,
  definePlugin,
  device,
  display,
  operations,
  panelAnswers,
  prompts,
  reasonOf,
} from '@device-core/plugin-api';
import { KeptSurface } from './kept-surface.ts';
import { goodbyeScene, SWITCH_OFF, safeModeScene } from './pages.ts';
import { PromptView } from './prompt-view.ts';
import { SafeMode } from './safe-mode.ts';
import { CORNER, type Ear, earScene, NOTHING, noticeScene } from './signs.ts';
import { type Power, Troubles } from './troubles.ts';

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
    const titles = new Map<string, string>();
    let heard: Pick<AudioState, 'capturing' | 'muted'> = { capturing: [], muted: false };
    let listens = false;
    let plugged: Disposable | undefined;
    let safe: SafeMode | undefined;
    scope.defer('sign of the charger', () => plugged?.[Symbol.dispose]());

    const ear = (): Ear => {
      const by = heard.capturing.map((owner) => nameOf(owner, titles));
      if (by.length > 0 || listens) return { state: 'heard', by: by.length > 0 ? by : ['voice'] };
      return { state: heard.muted ? 'muted' : 'free' };
    };
    const company = { display: screen, log };
    // In this order, and never taken away: the corner is above all else, always.
    const page = new KeptSurface(company, 'page', async () => {
      if (troubles.shuttingDown) return { scene: goodbyeScene(troubles.reason), modal: true };
      if (sku.id !== SAFE_MODE_SKU) return { scene: NOTHING, modal: false };
      const { blame = { outcome: '' }, code = 'device-core safe mode' } = safe ?? {};
      return { scene: await safeModeScene(screen, blame, code), modal: true };
    });
    const notice = new KeptSurface(company, 'notice', async () =>
      noticeScene(troubles.notice(plugged !== undefined), screen),
    );
    const corner = new KeptSurface(company, 'capture', () => ({ scene: earScene(ear()), box: CORNER }));
    await page.look();
    await notice.look();
    await corner.look();

    const questions = new PromptView(host, screen);
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
        service.onChange(({ id, title }) => void titles.set(id, title)),
      );
      for (const { id, title } of await service.list()) titles.set(id, title);
    });
    host.when(audio, (service, during) => {
      during.use(
        'ear',
        service.onState((state) => {
          heard = state;
          troubles.sound(state.problem);
          void corner.look();
          void notice.look();
        }),
      );
      during.defer('ear', () => {
        heard = { capturing: [], muted: false };
        troubles.sound(undefined);
        void corner.look();
      });
    });
    bus.subscribe('audio.state', ({ payload }) => {
      listens = (payload as { readonly state?: unknown }).state === 'listening';
      void corner.look();
    });
    bus.subscribe('plugin.state', ({ payload }) => {
      const { plugin: id, state } = payload as { readonly plugin: string; readonly state: string };
      // A voice that is gone listens no more, and does not say so.
      if (id === 'voice' && state !== 'active') listens = false;
      troubles.plugin(id, state);
      void notice.look();
      void corner.look();
    });
    bus.subscribe('system.network', ({ payload }) => {
      troubles.network((payload as { readonly state?: unknown }).state);
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
    if (sku.id === SAFE_MODE_SKU)
      host.when(operations, async (service, during) => {
        safe = new SafeMode(service, during);
        during.defer('safe mode', () => {
          safe = undefined;
        });
        await safe
          .read()
          .catch((thrown: unknown) => log.warn({ reason: reasonOf(thrown) }, 'cannot read why safe mode runs'));
        await page.look();
      });
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
        void page.look();
        void notice.look();
      }),
    );
  },
});

/** `app:com.example.ear` by the title of the app, `plugin:voice` by its id. */
function nameOf(owner: string, titles: ReadonlyMap<string, string>): string {
  const name = owner.slice(owner.indexOf(':') + 1);
  return titles.get(name) ?? name;
}
