import type { EventEnvelope } from '@device-core/plugin-api';
import { EventBusCore } from '../bus/event-bus.ts';

/** What the kernel itself tells of plugins: true in a test, too, but not what a test is about. */
const OF_KERNEL: ReadonlySet<string> = new Set(['plugin.state', 'plugin.changed']);

/** The bus of the device, which keeps what is published. */
export class RecordingBus extends EventBusCore {
  /** Every event so far but the kernel's own. */
  readonly published: EventEnvelope[] = [];

  override publish(publication: Parameters<EventBusCore['publish']>[0]): EventEnvelope {
    const event = super.publish(publication);
    if (!OF_KERNEL.has(event.topic) || event.source !== 'core') this.published.push(event);
    return event;
  }

  /** Publishes for a test: kept whatever it is. */
  say(publication: Parameters<EventBusCore['publish']>[0]): EventEnvelope {
    const event = this.publish(publication);
    if (this.published.at(-1) !== event) this.published.push(event);
    return event;
  }
}
