/** A microphone and a speaker that are simulated, and a device that listens and answers. */
const VOICE = ['config', 'audio-sim', 'audio', 'speech', 'vad-fvad', 'intent', 'voice'] as const;

/** The kinds of plugins that can be begun. Each has a folder below templates/; one more needs a contract that plugin-api has. */
export const KINDS = {
  service: { summary: 'offers a service to other plugins', needs: [] },
  driver: { summary: 'reads a chip behind the IO bridge', needs: ['events', 'port-sim', 'cbp', 'spi'] },
  operation: { summary: 'offers an operation to apps', needs: [] },
  events: { summary: 'listens to events and publishes its own', needs: ['events'] },
  stt: { summary: 'turns speech into words', needs: [...VOICE, 'tts-flite'] },
  tts: { summary: 'turns words into speech', needs: VOICE },
  stream: { summary: 'offers a stream of bytes to apps', needs: ['rpc', 'apps'] },
} as const satisfies Record<string, { readonly summary: string; readonly needs: readonly string[] }>;

export type Kind = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];
