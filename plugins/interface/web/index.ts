import { type Clock, definePlugin, type PluginHost } from '@device-core/plugin-api';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { type Sessions, sessions } from '@device-core/plugin-api/inside/services/sessions';
import { device } from '@device-core/plugin-api/services/device';
import { display } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { prompts } from '@device-core/plugin-api/services/prompts';
import { confirmationOperations } from './confirmation-operations.ts';
import { Confirmations } from './confirmations.ts';
import { PageFiles } from './files.ts';
import type { Loss } from './inbox.ts';
import { LivePage } from './live.ts';
import { operationsOf } from './operations.ts';
import { PanelQuestions } from './panel-question.ts';

const requires = { device, httpServer, operations, sessions };
const PREFIX = '/ui/';
/** How often a page that is open counts as used. */
const ALIVE_MS = 300_000;
const PROTOCOL = 'device.live.v1';

export const plugin = definePlugin<typeof requires, { readonly streams: number; readonly tabs: number }>({
  requires,
  async setup(host, services) {
    const files = new PageFiles(PREFIX);
    let tabs = 0;
    const unread = { chunks: 0, bytes: 0 };
    const lost = ({ chunks, bytes }: Loss): void => {
      unread.chunks += chunks;
      unread.bytes += bytes;
    };
    const confirmations = confirmationsOf(host, services.sessions);
    for (const operation of [
      ...operationsOf(services.sessions, {
        server: services.httpServer,
        prefix: PREFIX,
        room: () => tabs < host.config.tabs,
      }),
      ...confirmationOperations(confirmations, services.sessions),
    ])
      host.scope.use(operation.name, services.operations.add(operation));
    host.scope.use(
      'files of the page',
      services.httpServer.mount(PREFIX, (request) => files.answer(request)),
    );
    host.scope.use(
      'sockets of the page',
      services.httpServer.upgrade(`${PREFIX}live`, PROTOCOL, {
        admit: ([ticket = '']) => services.sessions.redeem(ticket),
        async run(socket) {
          tabs += 1;
          const alive = () => services.sessions.use(socket.caller.signedIn?.id ?? '');
          using _watch = watching(host.clock, alive, () => void socket.close(4_401, 'the session has ended'));
          try {
            const { clock, config } = host;
            const options = { operations: services.operations, clock, most: config.streams, alive, lost };
            await new LivePage(socket, options).run();
          } finally {
            tabs -= 1;
          }
        },
      }),
    );
    host.tap('health.collect', (report) => {
      const { chunks, bytes } = unread;
      const told =
        chunks === 0 ? '' : `; lost by pages that sent faster than was read: ${chunks} chunks, ${bytes} bytes`;
      report.add('web', { status: 'okay', message: `${tabs === 1 ? '1 tab' : `${tabs} tabs`}${told}` });
    });
  },
});

function confirmationsOf(host: PluginHost, sessions: Sessions): Confirmations {
  let screen = false;
  const panel = new PanelQuestions(sessions, host.log, {
    settle: (id, state) => confirmations.settle(id, state),
    forget: (id) => confirmations.forget(id),
  });
  const confirmations: Confirmations = new Confirmations({
    clock: host.clock,
    ask: (waiting) => panel.ask(waiting),
    over: (waiting) => panel.over(waiting),
    panel: () => screen && panel.there,
  });
  host.when(prompts, (service, during) => {
    panel.use(service);
    during.defer('questions on the panel', () => panel.use(undefined));
  });
  host.when(display, (_, during) => {
    screen = true;
    during.defer('panel', () => {
      screen = false;
    });
  });
  host.tap('operation.confirm', (act, call) => confirmations.refusal(act, call));
  host.scope.use(
    'sessions that end',
    sessions.onEnd((id) => confirmations.end(id)),
  );
  return confirmations;
}

/** An open page that nobody touches is in use; when its session has come to its end all the same, it is cut. */
function watching(clock: Clock, alive: () => Promise<void>, ended: () => void): Disposable {
  let timer: Disposable;
  const arm = (): void => {
    timer = clock.after(ALIVE_MS, () => alive().then(arm, ended));
  };
  arm();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
