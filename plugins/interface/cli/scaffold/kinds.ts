import type { Wing } from '@device-core/plugin-api/inside/tree';

/** A microphone and a speaker that are simulated, and a device that listens and answers. */
const VOICE = ['config', 'audio-sim', 'audio', 'speech', 'vad-fvad', 'intent', 'voice'] as const;

interface Kinds {
  /** Default wing of a plugin that is begun in the tree. */
  readonly wing: Wing;
  readonly summary: string;
  readonly needs: readonly string[];
}

/** The kinds of plugins that can be begun. Each has a folder below templates/; one more needs a contract that plugin-api has. */
export const KINDS = {
  service: { wing: 'interface', summary: 'offers a service to other plugins', needs: [] },
  driver: {
    wing: 'hardware',
    summary: 'reads a sensor on the IO bridge, over I2C or SPI',
    needs: ['events', 'port-sim', 'cbp', 'endpoints', 'i2c', 'spi', 'sensors'],
  },
  operation: {
    wing: 'interface',
    summary: 'offers an operation to apps',
    needs: ['config', 'flags', 'metrics', 'secrets-file'],
  },
  events: { wing: 'interface', summary: 'listens to events and publishes its own', needs: ['events'] },
  stt: { wing: 'voice', summary: 'turns speech into words', needs: [...VOICE, 'tts-flite'] },
  tts: { wing: 'voice', summary: 'turns words into speech', needs: VOICE },
  stream: {
    wing: 'interface',
    summary: 'offers a stream of bytes to apps',
    needs: ['rpc', 'supervisor-process', 'apps'],
  },
} as const satisfies Record<string, Kinds>;

export type Kind = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];
