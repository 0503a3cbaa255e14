/** The C functions of libspeexdsp (Debian's libspeexdsp1) that are used. */
import { reasonOf } from '@device-core/plugin-api';

/** A pointer of the library. */
export type Pointer = bigint;

export interface SpeexDsp {
  speex_echo_state_init(frame: number, tail: number): Pointer | null;
  speex_echo_state_destroy(state: Pointer): void;
  speex_echo_ctl(state: Pointer, request: number, value: Int32Array): number;
  /** All three have the samples of one frame. */
  speex_echo_cancellation(state: Pointer, near: Int16Array, far: Int16Array, clean: Int16Array): void;
}

const PROTOTYPES: Readonly<Record<keyof SpeexDsp, string>> = {
  speex_echo_state_init: 'void *speex_echo_state_init(int frame, int tail)',
  speex_echo_state_destroy: 'void speex_echo_state_destroy(void *state)',
  speex_echo_ctl: 'int speex_echo_ctl(void *state, int request, void *value)',
  speex_echo_cancellation:
    'void speex_echo_cancellation(void *state, const int16_t *near, const int16_t *far, _Out_ int16_t *clean)',
};

/** Rejects with the reason where the library is not there. koffi is native and comes by npm: it is imported only here. */
export async function loadSpeexDsp(name: string): Promise<SpeexDsp> {
  const { default: koffi } = await import('koffi');
  try {
    const library = koffi.load(name);
    const named = Object.entries(PROTOTYPES).map(([of, prototype]) => [of, library.func(prototype)]);
    return Object.fromEntries(named) as unknown as SpeexDsp;
  } catch (cause) {
    throw new Error(`cannot load ${name}: ${reasonOf(cause)}; the Debian package libspeexdsp1 has it`, { cause });
  }
}
