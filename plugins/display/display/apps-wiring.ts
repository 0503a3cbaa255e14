/** Surfaces of apps with everything around them: the apps, their sockets, their calls by voice, and the operations display.*. */

import type { PluginHost } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { apps } from '@device-core/plugin-api/services/apps';
import { operations } from '@device-core/plugin-api/services/operations';
import { AppSurfaces } from './app-surfaces.ts';
import { AppVoice } from './app-voice.ts';
import type { DisplayConfig } from './configuration.ts';
import { imageStream } from './image-stream.ts';
import { Offers } from './offers.ts';
import { displayOperations } from './operations.ts';
import type { Screen } from './screen.ts';
import { videoStream } from './video-stream.ts';
import type { FrameWatch } from './watch/frame-watch.ts';
import { framesStream } from './watch/frames-stream.ts';

/** States in which a person speaks, or is spoken to. */
const TALKING = ['listening', 'thinking', 'speaking'];

export function openApps(host: PluginHost<DisplayConfig>, screen: Screen, frames: FrameWatch): void {
  const { scope, log, bus, clock, capabilities, config } = host;
  const { quota, autoShow, idleMs, openMs } = config;
  const voice = new AppVoice(log);
  const offers = new Offers(bus, clock, log);
  const surfaces = scope.use(
    'surfaces of apps',
    new AppSurfaces({
      screen,
      clock,
      log,
      capabilities,
      voice,
      rules: { ...quota, autoShow, idleMs, openMs },
      offer: (app, title) => offers.offer(app, title),
    }),
  );
  screen.focus = surfaces;
  bus.subscribe('audio.state', ({ payload }) => {
    if (TALKING.includes((payload as { readonly state: string }).state)) screen.touched();
  });
  host.when(appSockets, (service, part) => voice.follow(service, part));
  host.when(apps, (service, part) => {
    part.use('apps', surfaces.follow(service));
  });
  // A call by voice is the wish of a person: the app may show its answer.
  host.tap('function.call', async ({ app, caller }) => {
    if (caller.kind === 'plugin' && caller.id === 'intent') surfaces.spokenTo(app);
    return undefined;
  });
  host.when(operations, (table, part) => {
    for (const operation of displayOperations(screen, surfaces, capabilities))
      part.use(`operation ${operation.name}`, table.add(operation));
    const streams = [videoStream(screen, surfaces, scope), imageStream(screen, surfaces), framesStream(frames)];
    for (const stream of streams) part.use(`stream ${stream.name}`, table.addStream(stream as never));
  });
  host.tap('health.collect', (report) => {
    for (const { app, reason } of surfaces.costs.costly) report.warn('SURFACE_TOO_COSTLY', `${app}: ${reason}`);
  });
}
