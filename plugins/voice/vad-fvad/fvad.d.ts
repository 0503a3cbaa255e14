declare module '@echogarden/fvad-wasm' {
  export interface Fvad {
    readonly HEAP16: Int16Array;
    _malloc(bytes: number): number;
    _free(address: number): void;
    _fvad_new(): number;
    _fvad_free(vad: number): void;
    /** 0 where it can. */
    _fvad_set_mode(vad: number, mode: number): number;
    _fvad_set_sample_rate(vad: number, rate: number): number;
    /** 1 speech, 0 none, -1 for a length that it does not know. */
    _fvad_process(vad: number, samples: number, length: number): number;
  }
  const fvad: () => Promise<Fvad>;

  // biome-ignore lint/style/noDefaultExport: the package has no other
  export { fvad as default };
}
