import type { EventEnvelope } from '@device-core/plugin-api';
import { EventBusCore } from '../bus/event-bus.ts';

/** The kernel's events about plugins: a test publishes them, too, but they are not its subject. */
const OF_KERNEL: ReadonlySet<string> = new Set(['plugin.state', 'plugin.changed']);

/** The bus of the device; it keeps published events. */
export class RecordingBus extends EventBusCore {
  /** Every event so far but the kernel's own. */
  readonly published: EventEnvelope[] = [];

  override publish(publication: Parameters<EventBusCore['publish']>[0]): EventEnvelope {
    const event = super.publish(publication);
    if (!OF_KERNEL.has(event.topic) || event.source !== 'core') this.published.push(event);
    return event;
  }

  /** Publishes for a test: each event is kept. */
  say(publication: Parameters<EventBusCore['publish']>[0]): EventEnvelope {
    const event = this.publish(publication);
    if (this.published.at(-1) !== event) this.published.push(event);
    return event;
  }
}
