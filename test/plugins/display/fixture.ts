/** Plugin display with a panel and a renderer that do what the test says. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Clock } from '@device-core/plugin-api';
import type { Scene, SceneNode } from '@device-core/plugin-api/scene';
import { type Display, type DisplayState, display } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { panel } from '@device-core/plugin-api/services/panel';
import { type Renderer, type Renderers, renderers } from '@device-core/plugin-api/services/renderer';
import { createTestHost, type TestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/display/index.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { FakePanel } from '../../fixtures/fake-panel.ts';
import { FakeRenderer } from '../../fixtures/fake-renderer.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/display/display.yaml');

export interface Bench extends AsyncDisposable {
  readonly host: TestHost;
  readonly panel: FakePanel;
  /** The one that is there from the beginning, as `skia`. */
  readonly renderer: FakeRenderer;
  readonly display: Display;
  readonly table: TestOperations;
  as(plugin: string, outside?: boolean): Display;
  register(id: string, renderer: Renderer): AsyncDisposable;
  /** Takes the first one away. */
  unregister(): Promise<void>;
  state(): Promise<DisplayState>;
  /** Resolves when the renderer shows these texts, from below. */
  shows(texts: readonly string[], renderer?: FakeRenderer): Promise<void>;
}

export async function boot(
  options: {
    readonly config?: object;
    readonly clock?: Clock;
    readonly panel?: false;
    readonly renderer?: false;
    readonly grants?: Readonly<Record<string, readonly string[]>>;
    readonly services?: NonNullable<Parameters<typeof createTestHost>[1]['services']>;
  } = {},
): Promise<Bench> {
  const { config, clock, grants, services = [] } = options;
  const table = new TestOperations();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: { locale: 'en-GB', timeZone: 'UTC', ...config },
    services: [[operations, table], ...services],
    ...(clock && { clock }),
    ...(grants && { grants }),
  });
  const glass = new FakePanel();
  if (options.panel !== false) await host.appear(panel, glass);
  const registry = host.service<Renderers>(renderers);
  const renderer = new FakeRenderer();
  const registered = options.renderer === false ? undefined : registry.register('skia', renderer);
  return {
    host,
    table,
    panel: glass,
    renderer,
    display: host.serviceFor(display, { plugin: 'home' }),
    as: (name, outside = false) => host.serviceFor(display, { plugin: name, outside }),
    register: (id, one) => registry.register(id, one),
    unregister: async () => registered?.[Symbol.asyncDispose](),
    state: () => host.service<Display>(display).state(),
    async shows(texts, one = renderer) {
      await eventually(
        () => {
          assert.deepEqual(one.texts, texts);
          return true;
        },
        `the renderer shows ${texts.join(', ')}`,
      );
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
    },
  };
}

export function scene(text: string, more: Partial<Scene> = {}, node: object = {}): Scene {
  return {
    scene: 1,
    nodes: [{ kind: 'text', id: 't', x: 48, y: 48, w: 600, text, ...node } as SceneNode],
    ...more,
  };
}
