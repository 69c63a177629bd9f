# A Homebrew formula; cmd/release fills in version, addresses and checksums.
class Sm < Formula
  desc "Watches fleets of coding agents: context, compactions, handoffs"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{.DarwinArm64.URL}}"
      sha256 "{{.DarwinArm64.Sum}}"
    end
    on_intel do
      url "{{.DarwinAmd64.URL}}"
      sha256 "{{.DarwinAmd64.Sum}}"
    end
  end

  on_linux do
    on_arm do
      url "{{.LinuxArm64.URL}}"
      sha256 "{{.LinuxArm64.Sum}}"
    end
    on_intel do
      url "{{.LinuxAmd64.URL}}"
      sha256 "{{.LinuxAmd64.Sum}}"
    end
  end

  def install
    bin.install "bin/sm", "bin/sm-hook"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/sm"
    zsh_completion.install "share/zsh/site-functions/_sm"
    fish_completion.install "share/fish/vendor_completions.d/sm.fish"
    pkgshare.install Dir["share/sm/*"]
  end

  service do
    run [opt_bin/"sm", "observe"]
    keep_alive crashed: true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sm version")
  end
end
