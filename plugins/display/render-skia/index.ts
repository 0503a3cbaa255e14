import { definePlugin } from '@device-core/plugin-api';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { renderers } from '@device-core/plugin-api/services/renderer';
import { addonProblem, useLibrary } from './canvas.ts';
import type { FontFile } from './fonts.ts';
import { SkiaRenderer } from './renderer.ts';

interface Settings {
  readonly library: string;
  readonly fonts: readonly FontFile[];
}

export const plugin = definePlugin<{ renderers: typeof renderers }, Settings>({
  requires: { renderers },
  setup(host, services) {
    useLibrary(host.config.library);
    const missing = addonProblem();
    const renderer = new SkiaRenderer(host.scope, host.log, host.config.fonts);
    if (missing === undefined) {
      host.scope.use('renderer skia', services.renderers.register('skia', renderer));
      host.scope.defer('screen', () => renderer.close());
    } else host.log.warn({ reason: missing }, 'there is no renderer skia; another one of the SKU paints');
    host.tap('health.collect', (report: HealthReport) => {
      if (missing !== undefined) {
        report.add(host.id, { status: 'waiting', code: 'UNAVAILABLE', message: missing });
        return report.warn('RENDERER_MISSING', `the renderer skia cannot be loaded: ${missing}`);
      }
      report.add(host.id, { status: 'okay' });
      for (const problem of renderer.problems) report.warn('RENDERER_PROBLEM', `the renderer skia: ${problem}`);
    });
  },
});
