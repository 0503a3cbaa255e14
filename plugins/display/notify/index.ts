import { randomBytes } from 'node:crypto';
import { CoreError, definePlugin, type EventEnvelope, reasonOf } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { apps } from '@device-core/plugin-api/services/apps';
import { display, type Notification, notifications } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { prompts } from '@device-core/plugin-api/services/prompts';
import { voice } from '@device-core/plugin-api/services/voice';
import { AppTitles } from './app-titles.ts';
import { type Answer, BannerBoard } from './banner-board.ts';
import { Floor } from './floor.ts';
import { Glass } from './glass.ts';
import { History } from './history.ts';
import { Losses } from './losses.ts';
import { notifyOperations } from './operations.ts';
import { bannerOf, toastOf } from './request.ts';
import { type Company, Toaster } from './toaster.ts';

interface NotifyConfig {
  readonly title: string;
  readonly toasts: {
    readonly perApp: number;
    readonly most: number;
    readonly freshMs: number;
    readonly equalMs: number;
  };
  readonly banners: { readonly perApp: number; readonly most: number };
  readonly history: { readonly perApp: number; readonly most: number };
}

/** A turn of speech goes on. */
const TALKING: readonly unknown[] = ['listening', 'thinking', 'speaking'];
/** Pause in milliseconds between two calls of a listener of the list. */
const TELL_MS = 100;

const requires = { operations };

export const plugin = definePlugin<typeof requires, NotifyConfig>({
  requires,
  async setup(host, services) {
    const { config, scope, log, bus, clock } = host;
    const run = randomBytes(2).toString('hex');
    let counter = 0;
    const listeners = new Set<(list: readonly Notification[]) => void>();
    let telling: Disposable | undefined;
    scope.defer('telling of changes', () => telling?.[Symbol.dispose]());
    const history = new History(config.history, () => {
      if (listeners.size === 0) return;
      telling ??= clock.after(TELL_MS, () => {
        telling = undefined;
        const list = history.list();
        for (const listener of [...listeners]) {
          try {
            listener(list);
          } catch (thrown) {
            log.error({ reason: reasonOf(thrown) }, 'a listener of notifications failed');
          }
        }
      });
    });

    /** Sends to the app alone; one that is not there needs no answer. */
    let send: ((app: string, method: string, params: object) => Promise<number>) | undefined;
    const tell = (app: string, method: string, params: object) =>
      void send?.(app, method, params).catch((thrown: unknown) => log.debug({ app, reason: reasonOf(thrown) }, method));
    host.when(appSockets, (sockets, during) => {
      send = (app, method, params) => sockets.notify(app, method, params);
      during.defer('telling apps', () => {
        send = undefined;
      });
    });
    const losses = scope.use('losses', new Losses(clock, (app, loss) => tell(app, 'ui.dropped', loss)));

    const glass = new Glass();
    const floor: Floor = new Floor(clock, () => look());
    const titles = new AppTitles((app) => banners.goneWith(app));
    const company: Company = {
      host,
      display: glass,
      floor,
      history,
      titles,
      losses,
      device: config.title,
      newKey: () => `${run}-${++counter}`,
    };
    let inFront: string | undefined;
    // A card has its buttons at the bottom; where a banner has the top, its buttons are there.
    const toasts = new Toaster(company, config.toasts, () => inFront !== undefined && banners.stage.key === undefined);
    const banners: BannerBoard = new BannerBoard(company, config.banners, (answer) => answered(answer));
    const look = () => {
      toasts.look();
      banners.look();
    };
    const answered = ({ app, own, ...answer }: Answer) => {
      if (own) tell(app, 'ui.action', answer);
      if (answer.action !== 'press') return;
      glass
        .open(app)
        .catch((thrown: unknown) => log.warn({ app, reason: reasonOf(thrown) }, 'cannot open the app of a banner'));
    };

    let strange = 0;
    let lost = 0;
    const take = (event: EventEnvelope) => {
      if (event.topic === 'ui.toast') {
        const asked = toastOf(event);
        if (asked) toasts.ask(asked);
        else strange += 1;
        return;
      }
      const request = bannerOf(event);
      if (request) banners.take(request);
      else strange += 1;
    };
    bus.subscribe(['ui.toast', 'ui.banner'], take, {
      onDrop: ({ counts }) => {
        for (const count of Object.values(counts)) lost += count;
      },
    });
    bus.subscribe('audio.state', ({ payload }) =>
      floor.hold('voice', TALKING.includes((payload as { readonly state?: unknown }).state)),
    );
    host.when(voice, (service, during) => {
      // A voice that is gone in the middle of a turn never says that it ended.
      during.defer('the turn', () => floor.hold('voice', false));
      return service.state().then(({ state }) => floor.hold('voice', TALKING.includes(state)));
    });
    host.when(prompts, (service, during) => {
      const ask = () => service.list().then((open) => floor.hold('prompt', open.length > 0));
      during.use('state of questions', bus.subscribe('prompt.state', ask));
      during.defer('questions', () => floor.hold('prompt', false));
      return ask();
    });
    host.when(apps, (service, during) => titles.follow(service, during));
    host.when(display, (service, during) => {
      glass.use(service);
      during.use(
        'state of the panel',
        service.onState(({ power, app }) => {
          const moves = (app === undefined) !== (inFront === undefined);
          inFront = app;
          if (moves) toasts.stage.again();
          floor.dark(power === 'off');
        }),
      );
      during.use(
        'touches',
        service.onInput((surface, input) => {
          if (surface === 'banner') banners.touched(input);
          else if (surface === 'toast' && (input.phase === 'tap' || input.phase === 'swipe')) toasts.dismissShown();
        }),
      );
      during.use(
        'surroundings',
        service.onSurroundings(() => {
          toasts.stage.again();
          banners.stage.again();
        }),
      );
      during.defer('the screen', () => {
        glass.use(undefined);
        toasts.stage.lost();
        banners.stage.lost();
        floor.hold('screen', true);
      });
      floor.hold('screen', false);
    });

    const dismiss = (id: string) => {
      const known = history.get(id);
      if (!known) throw new CoreError('NOTIFICATION_NOT_FOUND', { notification: id });
      history.state(id, 'dismissed');
      if (known.kind === 'toast') toasts.dismiss(id);
      else banners.dismiss(id);
    };
    host.tap('health.collect', (report) => {
      const named = [...losses.total].map(([app, count]) => `${app} ${count}`);
      const parts = [
        ...(named.length > 0 ? [`never shown: ${named.join(', ')}`] : []),
        ...(strange > 0 ? [`not understood: ${strange}`] : []),
        ...(lost > 0 ? [`lost on the bus: ${lost}`] : []),
      ];
      if (parts.length > 0) report.add('notify', { status: 'okay', message: parts.join('; ') });
    });
    host.provide(notifications, {
      list: async () => history.list(),
      dismiss: async (id) => dismiss(id),
      onChange(listener) {
        const own = (list: readonly Notification[]) => listener(list);
        listeners.add(own);
        own(history.list());
        return { [Symbol.dispose]: () => void listeners.delete(own) };
      },
    });
    for (const operation of notifyOperations({ list: () => history.list(), dismiss }, host.capabilities))
      scope.use(operation.name, services.operations.add(operation));
  },
});
